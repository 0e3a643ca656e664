"""WHIP: what the endpoint answers, and that flashes and clicks sent over WebRTC arrive in step."""

from __future__ import annotations

import asyncio
import contextlib
import fractions
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np
import pytest
from aiortc import (
    AudioStreamTrack,
    MediaStreamTrack,
    RTCPeerConnection,
    RTCSessionDescription,
    VideoStreamTrack,
)
from aiortc.rtcdtlstransport import RtpRouter
from aiortc.rtp import RtpPacket
from av import AudioFrame, VideoFrame
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from server.app import OpenGate, build_app
from server.hub import Hub
from server.limits import Limits
from server.rtc_tracks import PeerMedia, picture_of, sound_of
from server.settings import ServerSettings
from server.whip import WhipEndpoint
from server.whip_offer import OfferError, read_fragment, read_offer
from server.whip_settings import IceServer, MediaLimits, WhipSettings
from tests.pretend_pipeline import PretendEngines
from tests.whip_maker import FLASH, FLASH_EVERY, IN_STEP, MadeHub, MadeSession, Taken, needs_network

# --- stand-ins ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    text: str

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


class Client:
    """Asks an application without a network in between."""

    def __init__(
        self,
        hub: MadeHub,
        settings: WhipSettings | None = None,
        *,
        admitted: bool = True,
        app: Starlette | None = None,
    ) -> None:
        self.hub = hub
        self.endpoint = WhipEndpoint(hub, settings, admits=lambda _: admitted)
        self._app = app or Starlette(routes=self.endpoint.routes())

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "scheme": "http",
            "query_string": query.encode(),
            "headers": [
                (name.lower().encode(), value.encode()) for name, value in (headers or {}).items()
            ],
            "client": ("127.0.0.1", 5),
            "server": ("127.0.0.1", 80),
        }
        sent: list[dict[str, object]] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)  # type: ignore[arg-type]
        start = sent[0]
        text = b"".join(one.get("body", b"") for one in sent[1:])  # type: ignore[misc]
        headers_out = [(k.decode(), v.decode()) for k, v in start["headers"]]  # type: ignore[attr-defined]
        return Answer(int(start["status"]), headers_out, text.decode())  # type: ignore[call-overload]

    async def post(self, offer: str, path: str = "/whip") -> Answer:
        return await self.ask("POST", path, offer.encode(), {"Content-Type": "application/sdp"})

    async def patch(self, path: str, body: str, etag: str | None) -> Answer:
        headers = {"Content-Type": "application/trickle-ice-sdpfrag"}
        if etag is not None:
            headers["If-Match"] = etag
        return await self.ask("PATCH", path, body.encode(), headers)


MEDIA = """c=IN IP4 0.0.0.0
a=rtcp-mux
a=ice-ufrag:user
a=ice-pwd:passwordpasswordpassword
a=fingerprint:sha-256 {print}
a=setup:actpass
a=mid:{mid}
a={direction}
a=candidate:1 1 udp 2122260223 192.0.2.1 61764 typ host
a=candidate:2 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active
a=candidate:3 1 udp 2122260223 nowhere.example 61764 typ host
"""
PRINT = ":".join(["AB"] * 32)
SOUND = "m=audio 9 UDP/TLS/RTP/SAVPF 111\n{media}a=rtpmap:111 opus/48000/2\n"
PICTURES = "m=video 9 UDP/TLS/RTP/SAVPF 96\n{media}a=rtpmap:96 VP8/90000\n"


def offer(*sections: str, direction: str = "sendonly") -> str:
    """An offer of ``sections``."""
    text = "v=0\no=- 1 2 IN IP4 127.0.0.1\ns=-\nt=0 0\n"
    mids = " ".join(str(number) for number in range(len(sections)))
    text += f"a=group:BUNDLE {mids}\na=msid-semantic: WMS\n"
    for number, section in enumerate(sections):
        media = MEDIA.format(print=PRINT, mid=number, direction=direction)
        text += section.format(media=media)
    return text.replace("\n", "\r\n")


async def until(holds: Callable[[], bool]) -> None:
    """Wait on the real clock."""
    async with asyncio.timeout(8):
        while True:
            if holds():
                return
            await asyncio.sleep(0.02)


# --- offers and fragments -------------------------------------------------------------------


def test_candidates_that_lead_nowhere_are_left_out() -> None:
    found = read_offer(offer(SOUND, PICTURES).encode(), Limits(), candidates=8)
    assert "a=candidate" not in found.sdp
    assert [(one.sdpMid, one.ip) for one in found.candidates] == [
        ("0", "192.0.2.1"),
        ("1", "192.0.2.1"),
    ]
    assert not found.complete
    assert (found.ufrag, found.mids) == ("user", ("0", "1"))


def test_no_more_candidates_are_tried_than_set() -> None:
    text = offer(SOUND, PICTURES) + "a=end-of-candidates\r\n"
    found = read_offer(text.encode(), Limits(), candidates=1)
    assert len(found.candidates) == 1
    assert found.complete


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("hello", 400, "starts with v=0"),
        ("v=0\r\nm=audio x\r\n", 400, "cannot|no SDP"),
        (offer(), 400, "no media"),
        (offer(SOUND, SOUND), 406, "one audio and one video"),
        (offer(SOUND.replace("m=audio", "m=text")), 406, "nothing else"),
        (offer(SOUND, direction="recvonly"), 406, "sendonly"),
        (offer(SOUND, direction="inactive"), 406, "sendonly"),
        (offer(SOUND).replace("a=setup:actpass\r\n", ""), 400, "setup"),
        (offer(SOUND).replace("a=ice-ufrag:user\r\n", ""), 400, "ice-ufrag"),
        (offer(SOUND).replace("a=rtcp-mux\r\n", ""), 400, "rtcp-mux"),
        (offer(SOUND).replace("a=mid:0\r\n", ""), 400, "mid"),
        (offer(SOUND) + "a=x:" + "y" * 70_000, 413, "more than 65536 bytes"),
    ],
)
def test_offers_that_cannot_be_answered_are_refused(text: str, status: int, says: str) -> None:
    with pytest.raises(OfferError, match=says) as error:
        read_offer(text.encode(), Limits(), candidates=8)
    assert error.value.status == status
    assert "\n" not in str(error.value)


@settings(max_examples=60)
@given(st.data())
def test_a_mangled_offer_is_read_or_refused(data: st.DataObject) -> None:
    text = offer(SOUND, PICTURES)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        upto = min(len(text), at + data.draw(st.integers(0, 30)))
        text = text[:at] + data.draw(st.text(max_size=6)) + text[upto:]
    body = text.encode("utf-8", "surrogatepass")
    with contextlib.suppress(OfferError):
        read_offer(body, Limits(), candidates=8)


def test_a_fragment_names_the_media_of_its_candidates() -> None:
    text = (
        "a=ice-ufrag:user\r\na=ice-pwd:x\r\nm=audio 9 RTP/AVP 0\r\na=mid:1\r\n"
        "a=candidate:1 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag user\r\n"
        "a=candidate:2 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active\r\n"
        "a=end-of-candidates\r\n"
    )
    found = read_fragment(text.encode(), ("0", "1"), candidates=8)
    assert [(one.ip, one.port, one.sdpMid) for one in found.candidates] == [
        ("192.0.2.1", 61764, "1")
    ]
    assert (found.ufrag, found.complete) == ("user", True)


def test_an_ice_server_is_told_with_its_password_and_shown_without() -> None:
    server = IceServer(url="turn:turn.example:3478?transport=udp", username="u", credential="pw")
    assert server.link == (
        '<turn:turn.example:3478?transport=udp>; rel="ice-server"; username="u"; '
        'credential="pw"; credential-type="password"'
    )
    assert "pw" not in repr(server)
    with pytest.raises(ValueError, match="expected stun:host"):
        IceServer(url="http://x")


# --- the endpoint ---------------------------------------------------------------------------


@pytest.mark.threads
async def test_an_offer_is_answered_with_a_session() -> None:
    client = Client(MadeHub())
    answer = await client.post(offer(SOUND, PICTURES), "/whip?language=zh")
    assert answer.status == 201
    assert answer.header("content-type") == "application/sdp"
    assert answer.header("location") == "/whip/s0"
    etag = answer.header("etag")
    assert etag is not None
    assert etag.startswith('"')
    assert answer.text.count("a=recvonly") == 2
    assert client.hub.sessions["s0"].language == "zh"

    more = "a=mid:0\r\na=candidate:9 1 udp 2122260223 192.0.2.7 6000 typ host\r\n"
    assert (await client.patch("/whip/s0", more, None)).status == 428
    assert (await client.patch("/whip/s0", more, '"other"')).status == 412
    assert (await client.patch("/whip/s0", "a=ice-ufrag:new\r\n", "*")).status == 422
    added = await client.patch("/whip/s0", more, etag)
    assert (added.status, added.text, added.header("etag")) == (204, "", None)
    wrong = await client.ask("PATCH", "/whip/s0", b"{}", {"If-Match": etag})
    assert wrong.status == 415

    assert (await client.ask("DELETE", "/whip/s0")).status == 200
    await client.endpoint.aclose()
    assert client.hub.sessions["s0"].ingest.closed == "ended by the client"
    assert (await client.ask("DELETE", "/whip/s0")).status == 404
    assert (await client.patch("/whip/s0", more, etag)).status == 404


async def test_a_hidden_address_does_not_hold_up_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = asyncio.Event()

    async def never(self: object, hostname: str, **options: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("aioice.mdns.MDnsProtocol.resolve", never)
    client = Client(MadeHub())
    hidden = "0a1b2c3d-0000-4000-8000-000000000001.local"
    answer = await client.post(offer(SOUND, PICTURES).replace("192.0.2.1 61764", f"{hidden} 61764"))
    assert answer.status == 201
    await asked.wait()
    await client.endpoint.aclose()


@pytest.mark.threads
async def test_a_server_that_ends_ends_its_connections_first() -> None:
    hub = Hub(ServerSettings(), PretendEngines(), cores=8)
    app = build_app(hub, OpenGate(), ServerSettings())
    client = Client(MadeHub(), app=app)
    async with app.router.lifespan_context(app):
        assert (await client.post(offer(SOUND))).status == 201
        assert "WHIP peer" in {task.get_name() for task in asyncio.all_tasks()}
    assert "WHIP peer" not in {task.get_name() for task in asyncio.all_tasks()}
    assert not hub.sessions


async def test_a_sender_is_not_asked_to_leave_its_pictures_turned() -> None:
    turned = PICTURES + "a=extmap:5 urn:3gpp:video-orientation\n"
    client = Client(MadeHub())
    answer = await client.post(offer(SOUND, turned))
    assert answer.status == 201
    assert "video-orientation" not in answer.text
    await client.endpoint.aclose()


async def test_options_say_what_is_taken() -> None:
    client = Client(MadeHub())
    answer = await client.ask("OPTIONS", "/whip")
    assert (answer.status, answer.header("accept-post")) == (200, "application/sdp")
    answer = await client.ask("OPTIONS", "/whip/x")
    assert answer.header("accept-patch") == "application/trickle-ice-sdpfrag"


async def test_only_who_is_let_in_sees_passwords_of_ice_servers() -> None:
    stun = IceServer(url="stun:stun.example:3478")
    turn = IceServer(url="turn:turn.example:3478", username="u", credential="pw")
    both = WhipSettings(ice=(stun, turn))
    for admitted, links in ((False, [stun.link]), (True, [stun.link, turn.link])):
        client = Client(MadeHub(), both, admitted=admitted)
        answer = await client.ask("OPTIONS", "/whip")
        assert [value for name, value in answer.headers if name == "link"] == links


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_other_methods_are_refused(method: str) -> None:
    client = Client(MadeHub())
    assert (await client.ask(method, "/whip")).status == 405
    assert (await client.ask("POST", "/whip/x")).status == 405


async def test_refusals_are_one_line_and_open_no_session() -> None:
    client = Client(MadeHub())
    for answer, status in [
        (await client.ask("POST", "/whip", b"v=0", {"Content-Type": "text/plain"}), 415),
        (await client.post("v=0\r\n"), 400),
        (await client.post("v=0" + "x" * 100_000), 413),
        (await client.post(offer(SOUND), "/whip?language=tlh"), 400),
    ]:
        assert answer.status == status
        assert answer.text.count("\n") == 1
    assert not client.hub.sessions


async def test_a_full_server_says_when_to_come_back() -> None:
    answer = await Client(MadeHub(room=0)).post(offer(SOUND))
    assert (answer.status, answer.header("retry-after")) == (503, "10")
    assert answer.text == "no room\n"


@pytest.mark.threads
async def test_unknown_codecs_are_refused_and_the_session_ends() -> None:
    client = Client(MadeHub())
    answer = await client.post(offer(SOUND.replace("opus", "mystery")))
    assert (answer.status, answer.text) == (406, "none of the offered codecs is known here\n")
    assert client.hub.sessions["s0"].ingest.closed == "the offer was refused"


@pytest.mark.threads
async def test_a_session_that_does_not_start_is_said() -> None:
    client = Client(MadeHub(failure="no weights"))
    answer = await client.post(offer(SOUND))
    assert answer.status == 503
    assert "no weights" in answer.text
    assert client.hub.sessions["s0"].ingest.closed is not None


@pytest.mark.threads
async def test_a_client_that_never_connects_is_given_up() -> None:
    client = Client(MadeHub(), WhipSettings(connected_within=0.3))
    await client.post(offer(SOUND))
    await until(lambda: client.hub.sessions["s0"].ingest.closed is not None)
    assert client.hub.sessions["s0"].ingest.closed == "no connection within 0.3 s"


# --- media ----------------------------------------------------------------------------------


async def caught(due: float) -> float:
    """Wait until ``due`` on the clock, and return how late it got."""
    await asyncio.sleep(max(0.0, due - time.monotonic()))
    return time.monotonic() - due


class Clicks(MediaStreamTrack):
    """Sound that clicks each time :data:`FLASH_EVERY` has passed."""

    kind = "audio"

    def __init__(self, since: float) -> None:
        super().__init__()
        self._since = since
        self._count = 0
        self.late = 0.0

    async def recv(self) -> AudioFrame:
        first = self._count * 960
        self._count += 1
        self.late = max(self.late, await caught(self._since + first / 48_000))
        at = (first + np.arange(960)) / 48_000
        loud = (at % FLASH_EVERY < FLASH) & (at > 0.2)
        samples = np.where(loud, 12_000 * np.sin(at * 2 * np.pi * 1000), 0).astype(np.int16)
        frame = AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate, frame.pts = 48_000, first
        frame.time_base = fractions.Fraction(1, 48_000)
        return frame


class Flashes(MediaStreamTrack):
    """Pictures that are bright while :class:`Clicks` is loud; they grow after two seconds."""

    kind = "video"
    rate = 25

    def __init__(self, since: float) -> None:
        super().__init__()
        self._since = since
        self._count = 0
        self.late = 0.0

    async def recv(self) -> VideoFrame:
        at = self._count / self.rate
        self._count += 1
        self.late = max(self.late, await caught(self._since + at))
        bright = (at + 1e-6) % FLASH_EVERY < FLASH and at > 0.2
        size = (64, 96) if at < 2.0 else (96, 64)
        image = np.full((*size, 3), 235 if bright else 16, dtype=np.uint8)
        frame = VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts, frame.time_base = round(at * 90_000), fractions.Fraction(1, 90_000)
        return frame


async def publish(client: Client, *tracks: MediaStreamTrack) -> tuple[RTCPeerConnection, Answer]:
    """Offer ``tracks`` to the endpoint, and take its answer."""
    connection = RTCPeerConnection()
    for track in tracks:
        connection.addTransceiver(track, direction="sendonly")
    await connection.setLocalDescription(await connection.createOffer())
    answer = await client.post(connection.localDescription.sdp)
    assert answer.status == 201, answer.text
    await connection.setRemoteDescription(RTCSessionDescription(sdp=answer.text, type="answer"))
    return connection, answer


async def flash_and_click() -> tuple[Taken, float]:
    """What arrives of five seconds, and how late the machine let the sender be."""
    client = Client(MadeHub())
    since = time.monotonic() + 0.3
    clicks, flashes = Clicks(since), Flashes(since)
    connection, _ = await publish(client, clicks, flashes)
    taken = client.hub.sessions["s0"].ingest
    await asyncio.sleep(4.7)
    await connection.close()
    await until(lambda: taken.closed is not None)
    return taken, max(clicks.late, flashes.late)


@pytest.mark.realtime
@pytest.mark.threads
async def test_flashes_and_clicks_arrive_in_step() -> None:
    needs_network()
    for _ in range(3):
        # aiortc reports when it sent, not when it caught, so a machine that is too busy to send
        # in time makes its reports wrong.
        taken, late = await flash_and_click()
        if late < 0.05:
            break
    apart = [away for _, away in taken.apart()[1:]]
    assert len(apart) >= 2
    within = IN_STEP if late < 0.05 else IN_STEP + late
    assert abs(median(apart[1:] or apart)) < within, (apart, late)
    times = [one for one, _ in taken.pictures]
    assert times == sorted(set(times))
    ends = [(start + long) for start, long, _ in taken.sounds]
    gaps = [sound[0] - end for end, sound in zip(ends, taken.sounds[1:], strict=False)]
    assert abs(median(gaps)) < 1e-3
    assert min(gaps) > -0.001
    assert taken.sizes == {(64, 96, 3), (96, 64, 3)}
    assert taken.closed == "the sender stopped"


@pytest.mark.threads
async def test_a_deleted_session_ends_the_connection() -> None:
    needs_network()
    client = Client(MadeHub())
    connection, answer = await publish(client, AudioStreamTrack())
    taken = client.hub.sessions["s0"].ingest
    await until(lambda: bool(taken.sounds))
    await client.ask("DELETE", str(answer.header("location")))
    await until(lambda: connection.connectionState == "closed")
    assert taken.closed == "ended by the client"
    assert taken.notes[0] == "track_missing"
    await connection.close()
    await client.endpoint.aclose()


@pytest.mark.threads
async def test_a_session_that_has_ended_ends_the_connection() -> None:
    needs_network()
    client = Client(MadeHub())
    connection, _ = await publish(client, VideoStreamTrack())
    del client.hub.sessions["s0"]
    await until(lambda: connection.connectionState == "closed")
    await connection.close()
    await client.endpoint.aclose()


class Fading(AudioStreamTrack):
    """A tone for half a second, then silence, then for a second nothing, then silence again."""

    async def recv(self) -> AudioFrame:
        frame = await super().recv()
        at = frame.pts / frame.sample_rate
        if at < 0.5:
            tone = 12_000 * np.sin(np.arange(frame.samples) * 0.1)
            frame.planes[0].update(tone.astype(np.int16).tobytes())
        elif 1.5 < at < 2.5:
            await asyncio.sleep(1.0)
        return frame


@pytest.mark.threads
async def test_a_silent_microphone_and_a_track_that_stops_are_noted() -> None:
    needs_network()
    limits = MediaLimits(silent_after=0.4, stopped_after=0.5)
    client = Client(MadeHub(), WhipSettings(media=limits))
    connection, _ = await publish(client, Fading())
    taken = client.hub.sessions["s0"].ingest
    await until(lambda: "track_back" in taken.notes)
    assert taken.notes[:4] == ["track_missing", "muted", "track_stopped", "track_back"]
    await connection.close()
    await until(lambda: taken.closed is not None)


class Turning(VideoStreamTrack):
    """Pictures of a phone that is turned after half a second, and counts from elsewhere then."""

    async def recv(self) -> VideoFrame:
        pts, base = await self.next_timestamp()
        turned = pts * base > 0.5
        image = np.full((96, 64, 3) if turned else (64, 96, 3), 90, dtype=np.uint8)
        frame = VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts, frame.time_base = pts + (0 if turned else 90_000 * 60), base
        return frame


@pytest.mark.threads
async def test_pictures_that_are_turned_and_count_anew_go_on() -> None:
    needs_network()
    client = Client(MadeHub())
    connection, _ = await publish(client, Turning())
    taken = client.hub.sessions["s0"].ingest
    await until(lambda: len(taken.sizes) == 2)
    await connection.close()
    await until(lambda: taken.closed is not None)
    assert taken.notes[0] == "track_missing"
    assert "microphone" in taken.said["track_missing"]
    times = [one for one, _ in taken.pictures]
    assert times == sorted(set(times))
    assert times[-1] < 8.0
    assert "alignment_restarts 1" in taken.said["counted"]


async def attached(limits: MediaLimits) -> tuple[RTCPeerConnection, PeerMedia]:
    """A connection that was offered sound, before it is made."""
    connection = RTCPeerConnection()
    await connection.setRemoteDescription(RTCSessionDescription(sdp=offer(SOUND), type="offer"))
    await connection.setLocalDescription(await connection.createAnswer())
    media = PeerMedia(MadeSession("s", "en"), now=lambda: 1.0, limits=limits)
    media.attach(connection)
    return connection, media


@pytest.mark.threads
async def test_packets_are_discarded_while_the_decoder_is_behind() -> None:
    connection, media = await attached(MediaLimits(undecoded=2))
    receiver = connection.getReceivers()[0]
    router = receiver.transport._rtp_router
    router.register_receiver(receiver, ssrcs=[7], payload_types=[111])
    waiting = receiver._RTCRtpReceiver__decoder_queue
    went = []
    for number in range(5):
        packet = RtpPacket(payload_type=111, sequence_number=number, timestamp=960 * number)
        packet.ssrc = 7
        went.append(router.route_rtp(packet) is receiver)
        waiting.put(None)
    assert went == [True, True, False, False, False]
    assert media.counters.counts["rtc_packets_discarded"] == 3
    assert media.alignment.time("sound", 4 * 960) == 1.0
    await connection.close()


@pytest.mark.threads
async def test_an_aiortc_that_is_built_otherwise_is_refused() -> None:
    connection, media = await attached(MediaLimits())
    connection.getReceivers()[0].transport._rtp_router = None
    with pytest.raises(RuntimeError, match="built otherwise"):
        media.attach(connection)
    connection.getReceivers()[0].transport._rtp_router = RtpRouter()
    await connection.close()


async def test_a_peer_without_tracks_is_said_to_have_none() -> None:
    session = MadeSession("s", "en")
    await PeerMedia(session, now=asyncio.get_running_loop().time).run()
    assert session.ingest.notes == ["track_missing", "track_missing"]


def test_sound_is_taken_as_channels_of_floats() -> None:
    packed = np.array([[16384, -32768, 0, 8192]], dtype=np.int16)
    frame = AudioFrame.from_ndarray(packed, format="s16", layout="stereo")
    assert sound_of(frame).tolist() == [[0.5, 0.0], [-1.0, 0.25]]


def test_pictures_are_taken_as_rgb() -> None:
    image = np.zeros((4, 6, 3), dtype=np.uint8)
    image[..., 0] = 200
    assert picture_of(VideoFrame.from_ndarray(image, format="rgb24")).tolist() == image.tolist()
