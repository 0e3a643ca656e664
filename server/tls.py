"""The server's certificate: the user's own, or one that it makes and signs itself.

A self-made certificate protects against listening in, and against an impostor as far as whoever
connects compares its fingerprint, which is printed, with what the browser shows.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
import socket
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from streaming.clock import utc_now
from streaming.weights import cache_folder

VALID_DAYS = 365
RENEW_DAYS = 14
"""A self-made certificate that ends sooner than this is made anew."""
_CERTIFICATE = "certificate.pem"
_KEY = "key.pem"
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")


class TlsError(ValueError):
    """A certificate that cannot be used. The text is one line: what, where, what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate and its key, as files.

    Attributes:
        certificate: PEM; its chain may follow.
        key: PEM, unencrypted.
        fingerprint: SHA-256 of the certificate, as browsers show it: ``AB:CD:…``.
        until: When it ends.
        self_made: By this program.
    """

    certificate: Path
    key: Path
    fingerprint: str
    until: datetime.datetime
    self_made: bool = False


def own_certificate(
    certificate: Path | None, key: Path | None, *, now: datetime.datetime | None = None
) -> Certificate:
    """The user's own certificate, looked at before the server listens.

    Raises:
        TlsError: If a file is missing, is no PEM, has ended, or the two do not belong together.
    """
    if certificate is None or key is None:
        lone, other = ("--cert", "--key") if key is None else ("--key", "--cert")
        raise TlsError(f"{lone} needs {other} beside it")
    found = _read_certificate(certificate)
    if found.not_valid_after_utc <= (now or _now()):
        raise TlsError(f"{certificate}: ended on {found.not_valid_after_utc:%Y-%m-%d}; renew it")
    private = _read_key(key)
    if _public(private) != _public_of(found):
        raise TlsError(f"{key}: is not the key of {certificate}")
    _loadable(certificate, key)
    return Certificate(
        certificate=certificate,
        key=key,
        fingerprint=_fingerprint(found),
        until=found.not_valid_after_utc,
    )


def self_made_certificate(
    names: Iterable[str], *, folder: Path | None = None, now: datetime.datetime | None = None
) -> Certificate:
    """A certificate for ``names``, made once and used again while it is valid and covers them.

    Args:
        names: Host names and addresses.
        folder: Where it is kept, by default under the cache folder. The key is for its owner only.
        now: The date, by default today's.

    Raises:
        TlsError: If a name is none, or the folder cannot be written.
    """
    moment = now or _now()
    wanted = sorted({_checked_name(name) for name in names})
    if not wanted:
        raise TlsError("a certificate needs at least one host name or address")
    place = cache_folder() / "tls" if folder is None else folder
    kept = _kept(place, wanted, moment)
    if kept is not None:
        return kept
    try:
        return _make(place, wanted, moment)
    except OSError as error:
        raise TlsError(
            f"cannot keep a certificate in {place}: {(error.strerror or str(error)).lower()}; "
            "set DEIXIS_CACHE to a writable folder, or give --cert and --key"
        ) from error


def machine_names(host: str) -> tuple[str, ...]:
    """What a server that listens on ``host`` may be called: itself and, for a wildcard address,
    this machine's name and addresses."""
    names = ["localhost", "127.0.0.1", "::1"]
    if host not in ("", "0.0.0.0", "::"):
        names.append(host)
        return tuple(dict.fromkeys(names))
    own = socket.gethostname().lower()
    if _NAME.match(own):
        names += [own, own if "." in own else f"{own}.local"]
    names += _addresses()
    return tuple(dict.fromkeys(names))


def _addresses() -> list[str]:
    """This machine's addresses, as far as its interfaces tell."""
    import psutil

    families = (socket.AF_INET, socket.AF_INET6)
    found = (
        entry.address
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family in families
    )
    return sorted(address for address in found if "%" not in address)


def _now() -> datetime.datetime:
    return datetime.datetime.fromisoformat(utc_now())


def _checked_name(name: str) -> str:
    plain = name.strip().strip("[]").lower().rstrip(".")
    try:
        return str(ipaddress.ip_address(plain))
    except ValueError:
        pass
    if not _NAME.match(plain):
        raise TlsError(f"{name!r} is no host name and no address")
    return plain


def _kept(folder: Path, wanted: list[str], now: datetime.datetime) -> Certificate | None:
    """The certificate in ``folder``, if it will do."""
    certificate, key = folder / _CERTIFICATE, folder / _KEY
    try:
        if key.stat().st_mode & 0o077:
            return None
        found = _read_certificate(certificate)
        private = _read_key(key)
    except (OSError, TlsError):
        return None
    left = found.not_valid_after_utc - now
    if (
        left < datetime.timedelta(days=RENEW_DAYS)
        or found.not_valid_before_utc > now
        or not set(wanted) <= _covered(found)
        or _public(private) != _public_of(found)
    ):
        return None
    return Certificate(
        certificate=certificate,
        key=key,
        fingerprint=_fingerprint(found),
        until=found.not_valid_after_utc,
        self_made=True,
    )


def _covered(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {
        *names.get_values_for_type(x509.DNSName),
        *map(str, names.get_values_for_type(x509.IPAddress)),
    }


def _make(folder: Path, names: list[str], now: datetime.datetime) -> Certificate:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    private = ec.generate_private_key(ec.SECP256R1())
    made = _signed(private, names, now)
    _write(
        folder / _KEY,
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
    _write(folder / _CERTIFICATE, made.public_bytes(serialization.Encoding.PEM))
    return Certificate(
        certificate=folder / _CERTIFICATE,
        key=folder / _KEY,
        fingerprint=_fingerprint(made),
        until=made.not_valid_after_utc,
        self_made=True,
    )


def _signed(
    private: ec.EllipticCurvePrivateKey, names: list[str], now: datetime.datetime
) -> x509.Certificate:
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Deixis (self-made)")])
    public = private.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        # Clocks differ: a phone that is a little behind must not find it "not yet valid".
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
        .sign(private, hashes.SHA256())
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(path: Path, content: bytes) -> None:
    """Put a file in place whole, and for its owner only from its first byte on."""
    node, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(node, "wb") as stream:
            stream.write(content)
        os.replace(made, path)
    except OSError:
        Path(made).unlink(missing_ok=True)
        raise


def _read_certificate(path: Path) -> x509.Certificate:
    content = _content(path)
    try:
        return x509.load_pem_x509_certificate(content)
    except ValueError as error:
        raise TlsError(f"{path}: no certificate in PEM form") from error


def _read_key(path: Path) -> object:
    content = _content(path)
    try:
        return serialization.load_pem_private_key(content, password=None)
    except TypeError as error:
        raise TlsError(
            f"{path}: is locked with a password; unlock it: openssl pkey -in {path} -out open.pem"
        ) from error
    except ValueError as error:
        raise TlsError(f"{path}: no private key in PEM form") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _public(key: object) -> bytes:
    public = key.public_key()  # type: ignore[attr-defined]  # every kind of private key has it
    return bytes(public.public_bytes(_DER, _SPKI))


def _public_of(certificate: x509.Certificate) -> bytes:
    return certificate.public_key().public_bytes(_DER, _SPKI)


_DER = serialization.Encoding.DER
_SPKI = serialization.PublicFormat.SubjectPublicKeyInfo


def _fingerprint(certificate: x509.Certificate) -> str:
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def _loadable(certificate: Path, key: Path) -> None:
    """Raise a TlsError if OpenSSL would not serve with them."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        raise TlsError(f"{certificate}: OpenSSL refuses it: {error}") from error
