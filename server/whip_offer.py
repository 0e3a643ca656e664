"""What a WHIP client may ask for (RFC 9725, section 4), looked at before aiortc sees it."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from aiortc.rtcicetransport import RTCIceCandidate
from aiortc.sdp import SessionDescription, candidate_from_sdp

from server.limits import Limits, check_sdp

BAD_SDP = (ValueError, AssertionError, LookupError, AttributeError, TypeError, StopIteration)
"""What aiortc's parser raises at text that is none of its kind."""
_CANDIDATE = "a=candidate:"
_COMPLETE = "a=end-of-candidates"
_MOST_PORT = 65_535


class OfferError(ValueError):
    """An offer, or a fragment of one, that is not taken.

    Attributes:
        status: Of the HTTP answer.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An offer that can be answered.

    Attributes:
        sdp: Without candidates, as those whose names are hidden take a second to be found.
        candidates: Those that may lead somewhere.
        complete: No more will come.
        ufrag: The client's ICE user name, the same for all media.
        mids: Of the media, in order.
    """

    sdp: str
    candidates: tuple[RTCIceCandidate, ...]
    complete: bool
    ufrag: str
    mids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """What a trickle ICE fragment says (RFC 8840).

    Attributes:
        ufrag: ICE user name that it is about, or empty.
        candidates: Those that may lead somewhere.
        complete: No more will come.
    """

    ufrag: str
    candidates: tuple[RTCIceCandidate, ...]
    complete: bool


def read_offer(body: bytes, limits: Limits, *, candidates: int) -> Offer:
    """Check an offer.

    Args:
        body: As it came.
        limits: Of its size.
        candidates: Most that are kept.

    Raises:
        OfferError: 413 or 400 if it is too large or no offer, 406 if it asks for what is not given.
    """
    refusal = check_sdp(body, limits)
    if refusal is not None:
        raise OfferError(refusal.status, refusal.text)
    whole = body.decode("utf-8")
    text = "".join(
        line + "\r\n" for line in whole.splitlines() if not line.startswith((_CANDIDATE, _COMPLETE))
    )
    try:
        offer = SessionDescription.parse(text)
        str(offer)  # reads what parsing only kept
    except BAD_SDP as error:
        raise OfferError(400, "the offer is no SDP that can be read") from error
    _check_media(offer)
    first = offer.media[0]
    return Offer(
        sdp=text,
        candidates=_candidates(whole, [media.rtp.muxId for media in offer.media], candidates),
        complete=any(line == _COMPLETE for line in whole.splitlines()),
        ufrag=str(first.ice.usernameFragment) if first.ice is not None else "",
        mids=tuple(media.rtp.muxId for media in offer.media),
    )


def _check_media(offer: SessionDescription) -> None:
    kinds = [media.kind for media in offer.media]
    if not kinds:
        raise OfferError(400, "the offer has no media")
    if any(kind not in ("audio", "video") for kind in kinds) or len(set(kinds)) < len(kinds):
        raise OfferError(406, "one audio and one video track are taken, and nothing else")
    if any(media.direction not in ("sendonly", "sendrecv") for media in offer.media):
        raise OfferError(406, "media must be offered as sendonly")
    mids = [media.rtp.muxId for media in offer.media]
    if len(set(mids)) < len(mids) or not all(mids):
        raise OfferError(400, "each media section needs a mid of its own")
    if any(mid not in mids for group in offer.group for mid in group.items):
        raise OfferError(400, "the offer bundles a mid that none of its media has")
    for media in offer.media:
        if media.dtls is None or not media.dtls.fingerprints:
            raise OfferError(400, "the offer lacks a fingerprint or a setup attribute")
        if media.ice is None or not media.ice.usernameFragment or not media.ice.password:
            raise OfferError(400, "the offer lacks ice-ufrag or ice-pwd")
        if not media.rtcp_mux:
            raise OfferError(400, "the offer lacks rtcp-mux")


def read_fragment(body: bytes, mids: tuple[str, ...], *, candidates: int) -> Fragment:
    """Read a trickle ICE fragment; candidates that lead nowhere are left out.

    Raises:
        OfferError: 400 if it is no such fragment.
    """
    try:
        lines = [line.strip() for line in body.decode("utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise OfferError(400, "the fragment is not UTF-8") from error
    if any(
        line and not line.startswith(("a=", "m=", "v=", "o=", "s=", "t=", "c=")) for line in lines
    ):
        raise OfferError(400, "the fragment is no SDP")
    ufrag, mid, complete = "", mids[0], False
    found: list[RTCIceCandidate] = []
    for line in lines:
        if line.startswith("a=ice-ufrag:"):
            ufrag = line.partition(":")[2]
        elif line.startswith("a=mid:"):
            mid = line.partition(":")[2]
        elif line == _COMPLETE:
            complete = True
        elif line.startswith(_CANDIDATE) and mid in mids and len(found) < candidates:
            candidate = _candidate(line)
            if candidate is not None:
                candidate.sdpMid = mid
                found.append(candidate)
    return Fragment(ufrag=ufrag, candidates=tuple(found), complete=complete)


def _candidates(text: str, mids: Sequence[str], most: int) -> tuple[RTCIceCandidate, ...]:
    """The first ``most`` candidates of an offer that may lead somewhere."""
    found: list[RTCIceCandidate] = []
    section = -1
    for line in text.splitlines():
        section += line.startswith("m=")
        if not line.startswith(_CANDIDATE) or not 0 <= section < len(mids) or len(found) >= most:
            continue
        candidate = _candidate(line)
        if candidate is not None:
            candidate.sdpMid = mids[section]
            found.append(candidate)
    return tuple(found)


def _candidate(line: str) -> RTCIceCandidate | None:
    """The candidate of an attribute if UDP packets can be sent to it."""
    try:
        candidate = candidate_from_sdp(line[len(_CANDIDATE) :])
    except BAD_SDP:
        return None
    usable = (
        candidate.component == 1
        and candidate.protocol.lower() == "udp"
        and 0 < candidate.port <= _MOST_PORT
        and 0 < candidate.priority < 1 << 32
        and candidate.type in ("host", "srflx", "prflx", "relay")
        and _is_host(candidate.ip)
    )
    return candidate if usable else None


def _is_host(host: str) -> bool:
    if host.endswith(".local"):  # a browser that hides its address (mDNS)
        return len(host) <= 64 and host.isascii()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return not (address.is_multicast or address.is_unspecified)
