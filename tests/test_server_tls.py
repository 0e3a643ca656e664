"""The server's certificate."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from server.tls import TlsError, machine_names, own_certificate, self_made_certificate

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
NAMES = ("localhost", "127.0.0.1", "::1", "glasses.example")


def test_it_is_a_year_long_and_for_all_names(tmp_path: Path) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path / "tls", now=NOW)
    found = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["glasses.example", "localhost"]
    assert set(names.get_values_for_type(x509.IPAddress)) == {
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    }
    key = found.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    assert made.until == NOW + 365 * DAY
    assert made.self_made
    assert len(made.fingerprint) == 32 * 3 - 1
    assert made.fingerprint == made.fingerprint.upper()


def test_the_key_is_for_its_owner_only(tmp_path: Path) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path / "tls", now=NOW)
    assert made.key.stat().st_mode & 0o777 == 0o600
    assert made.key.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in made.key.parent.iterdir()) == ["certificate.pem", "key.pem"]


def test_openssl_serves_with_it(tmp_path: Path) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)


def test_it_is_used_again_while_it_is_valid(tmp_path: Path) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    again = self_made_certificate(NAMES[:2], folder=tmp_path, now=NOW + 300 * DAY)
    assert again == made


@pytest.mark.parametrize("later", [355, 400, -30])
def test_it_is_made_anew_when_it_ends_soon_or_has_not_begun(tmp_path: Path, later: int) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    again = self_made_certificate(NAMES, folder=tmp_path, now=NOW + later * DAY)
    assert again.fingerprint != made.fingerprint


def test_it_is_made_anew_for_a_new_name(tmp_path: Path) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    again = self_made_certificate([*NAMES, "192.0.2.7"], folder=tmp_path, now=NOW)
    assert again.fingerprint != made.fingerprint


def test_a_key_that_others_could_read_is_not_used_again(tmp_path: Path) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    made.key.chmod(0o644)
    again = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    assert again.fingerprint != made.fingerprint
    assert again.key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_broken_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    made.certificate.write_bytes(content)
    again = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    assert x509.load_pem_x509_certificate(again.certificate.read_bytes())


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "tls").write_text("in the way")
    with pytest.raises(TlsError, match="DEIXIS_CACHE") as caught:
        self_made_certificate(NAMES, folder=tmp_path / "tls", now=NOW)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 64, "a..b", "a/b", "ü.example"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TlsError, match="is no host name"):
        self_made_certificate([name], folder=tmp_path, now=NOW)


def test_no_names_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TlsError, match="at least one"):
        self_made_certificate([], folder=tmp_path, now=NOW)


def test_an_own_certificate_is_taken(tmp_path: Path) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path, now=NOW)
    own = own_certificate(made.certificate, made.key, now=NOW)
    assert own.fingerprint == made.fingerprint
    assert not own.self_made


def test_an_own_certificate_that_will_not_do_is_told_in_one_line(tmp_path: Path) -> None:
    made = self_made_certificate(NAMES, folder=tmp_path / "one", now=NOW)
    other = self_made_certificate(NAMES, folder=tmp_path / "two", now=NOW)
    broken = tmp_path / "broken.pem"
    broken.write_text("garbage")
    locked = tmp_path / "locked.pem"
    locked.write_bytes(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    missing = tmp_path / "missing.pem"
    cases = (
        (made.certificate, None, NOW, "--cert needs --key"),
        (None, made.key, NOW, "--key needs --cert"),
        (missing, made.key, NOW, "no such file"),
        (made.certificate, tmp_path, NOW, "is a directory"),
        (broken, made.key, NOW, "no certificate in PEM form"),
        (made.certificate, broken, NOW, "no private key in PEM form"),
        (made.certificate, locked, NOW, "locked with a password"),
        (made.certificate, other.key, NOW, "is not the key of"),
        (made.certificate, made.key, NOW + 400 * DAY, "ended on 2031-01-01; renew it"),
    )
    for certificate, key, now, expected in cases:
        with pytest.raises(TlsError, match=expected) as caught:
            own_certificate(certificate, key, now=now)
        assert "\n" not in str(caught.value)


def test_it_is_kept_in_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEIXIS_CACHE", str(tmp_path))
    made = self_made_certificate(["localhost"])
    assert made.key == tmp_path / "tls" / "key.pem"


def test_a_wildcard_address_covers_the_machine() -> None:
    assert machine_names("127.0.0.1") == ("localhost", "127.0.0.1", "::1")
    assert "192.0.2.7" in machine_names("192.0.2.7")
    assert {"localhost", "127.0.0.1"} <= set(machine_names("0.0.0.0"))
