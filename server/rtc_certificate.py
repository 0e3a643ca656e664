"""The certificate of a WebRTC peer that every sender gets on with.

* aiortc offers only cipher suites for ECDSA. Browsers, OBS and FFmpeg have such certificates, but
  GStreamer's is RSA (RFC 8827, section 6.5, allows both), and when it takes the server's part in
  the DTLS handshake, as it does when it is answered, there is no suite in common.
* aiortc tells three fingerprints. libdatachannel, which OBS uses, knows only of one, and hangs up
  when its handshake began with another hash than that of the last; with SHA-256 alone it cannot.
"""

from __future__ import annotations

from aiortc import RTCCertificate, RTCDtlsFingerprint, RTCPeerConnection
from aiortc.rtcdtlstransport import SRTPProtectionProfile
from OpenSSL import SSL

_KEPT = f"_{RTCPeerConnection.__name__}__certificates"
_SUITES = b":".join(
    b"ECDHE-%b-%b" % (kind, suite)
    for kind in (b"ECDSA", b"RSA")
    for suite in (b"AES128-GCM-SHA256", b"CHACHA20-POLY1305", b"AES128-SHA", b"AES256-SHA")
)


class WideCertificate(RTCCertificate):
    """An ECDSA certificate, known by its SHA-256, whose owner takes peers with RSA ones, too."""

    def getFingerprints(self) -> list[RTCDtlsFingerprint]:
        return [one for one in super().getFingerprints() if one.algorithm == "sha-256"]

    def _create_ssl_context(self, srtp_profiles: list[SRTPProtectionProfile]) -> SSL.Context:
        context = super()._create_ssl_context(srtp_profiles)
        context.set_cipher_list(_SUITES)
        return context


def widen(connection: RTCPeerConnection) -> None:
    """Give a new connection such a certificate, in the place of its own.

    Raises:
        RuntimeError: If this aiortc is built otherwise than 1.16.
    """
    held = getattr(connection, _KEPT, None)
    if not isinstance(held, list) or not hasattr(RTCCertificate, "_create_ssl_context"):
        raise RuntimeError("this aiortc is built otherwise than 1.16, which WebRTC needs here")
    held[:] = [WideCertificate.generateCertificate()]
