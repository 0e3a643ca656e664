"""Media that can only come through a TURN server: coturn, and a sender that uses nothing else."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import httpx2
import ifaddr
import pytest
from aiortc import (
    AudioStreamTrack,
    RTCConfiguration,
    RTCIceServer,
    RTCIceTransportPolicy,
    RTCPeerConnection,
    RTCSessionDescription,
    VideoStreamTrack,
)

from tests.live_process import TOKEN, LiveProcess

pytestmark = pytest.mark.realtime
USER, WORD = "wearer", "a-turn-password"


def outer_address() -> str:
    """An IPv4 address of this machine beside 127.0.0.1, which ICE leaves out."""
    addresses = [str(ip.ip) for one in ifaddr.get_adapters() for ip in one.ips if ip.is_IPv4]
    outer = next((one for one in addresses if not one.startswith("127.")), None)
    if outer is None:
        pytest.skip("this machine has no address but 127.0.0.1")
    return outer


@contextmanager
def relaying(address: str) -> Iterator[int]:
    """A TURN server on a free port of ``address``."""
    program = shutil.which("turnserver")
    if program is None:
        pytest.skip("no coturn on this machine; apt install coturn")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind((address, 0))
        port = int(free.getsockname()[1])
    command = [program, "-n", f"--listening-ip={address}", f"--relay-ip={address}"]
    command += [
        f"--listening-port={port}",
        f"--user={USER}:{WORD}",
        "--realm=here",
        "--fingerprint",
    ]
    command += ["--lt-cred-mech", "--no-tls", "--no-dtls", "--no-cli", "--no-stdout-log"]
    command += ["--log-file=/dev/null", "--simple-log", "--pidfile=", "--userdb=:memory:"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield port
    finally:
        running.terminate()
        running.wait(10)


@pytest.mark.threads
async def test_media_come_through_a_relay_that_the_server_tells_of(tmp_path: Path) -> None:
    address, settings = outer_address(), tmp_path / "server.toml"
    with relaying(address) as port:
        settings.write_text(
            f'[[whip.ice]]\nurl = "turn:{address}:{port}?transport=udp"\n'
            f'username = "{USER}"\ncredential = "{WORD}"\n'
        )
        with LiveProcess(settings=settings) as server:
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
                used = await push(client, f"{server.url}/whip")
            seen = server.ended(0)
    assert used == "relay"
    assert seen.pictures > 5
    assert seen.seconds is not None
    assert seen.seconds > 0.5


async def push(client: httpx2.AsyncClient, url: str) -> str:
    """Send a second through the relay, and say by which kind of candidate it went."""
    told = (await client.options(url)).headers["Link"]
    found = re.match(
        r'<(turn:[^>]+)>; rel="ice-server"; username="(.*?)"; credential="(.*?)"', told
    )
    assert found is not None
    ice = RTCIceServer(urls=found[1], username=found[2], credential=found[3])
    only = RTCConfiguration(iceServers=[ice], iceTransportPolicy=RTCIceTransportPolicy.RELAY)
    peer = RTCPeerConnection(only)
    connected = asyncio.Event()
    peer.on(
        "connectionstatechange", lambda: peer.connectionState == "connected" and connected.set()
    )
    for track in (AudioStreamTrack(), VideoStreamTrack()):
        peer.addTransceiver(track, direction="sendonly")
    await peer.setLocalDescription(await peer.createOffer())
    offer = peer.localDescription.sdp
    assert " typ relay" in offer
    assert " typ host" not in offer
    answer = await client.post(url, content=offer, headers={"Content-Type": "application/sdp"})
    assert answer.status_code == 201, answer.text
    await peer.setRemoteDescription(RTCSessionDescription(sdp=answer.text, type="answer"))
    async with asyncio.timeout(20):
        await connected.wait()
    await asyncio.sleep(1.5)
    ice_connection = peer.getTransceivers()[0].sender.transport.transport._connection
    used = ice_connection._nominated[1].local_candidate.type
    await peer.close()
    await client.delete(urljoin(url, answer.headers["Location"]))
    return str(used)
