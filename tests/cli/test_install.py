"""`tapui install extension` and `tapui uninstall extension`."""

import hashlib
import re
import stat

from tapui.hosts.copilot.install.own_files import ExtensionFile
from tests.cli.running import ran
from tests.rig.gateway import Home


def test_it_is_written_once_and_removed(home: Home) -> None:
    extension = ExtensionFile(home.copilot)
    path = extension.path
    first = ran(home, "install", "extension")
    assert (first.returncode, first.stdout) == (0, f"wrote {path}\n")
    assert "copilot --experimental" in first.stderr
    assert path.read_bytes() == extension.content()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = ran(home, "install", "extension")
    assert again.stdout == f"{path} is installed already\n"
    (home.copilot / "settings.json").write_text('{"experimental": true}')
    assert "--experimental" not in ran(home, "install", "extension").stderr
    removed = ran(home, "uninstall", "extension")
    assert (removed.returncode, removed.stdout) == (
        0,
        f"removed {path}; sessions that run keep it until they end\n",
    )
    assert not path.parent.exists()
    assert ran(home, "uninstall", "extension").stdout == f"{path} is not installed\n"


def test_a_dry_run_says_what_it_would_do_and_does_nothing(home: Home) -> None:
    extension = ExtensionFile(home.copilot)
    path, content = extension.path, extension.content()
    said = ran(home, "install", "extension", "--dry-run")
    head, _, written = said.stdout.partition("\n")
    assert head.startswith(f"would write {path} (mode 0600, {len(content):,} bytes")
    assert written == content.decode() + "\n"
    assert not home.copilot.exists()
    extension.install()
    (home.copilot / "tapui" / "doors").mkdir(parents=True)
    said = ran(home, "uninstall", "extension", "--dry-run").stdout
    assert said == "".join(
        (
            f"would remove {path}\n",
            f"would remove {path.parent} if nothing else is in it\n",
            f"would remove {home.copilot}/tapui/doors if nothing else is in it\n",
            f"would remove {home.copilot}/tapui if nothing else is in it\n",
        )
    )
    assert path.exists()
    (path.parent / "notes").touch()
    assert ran(home, "uninstall", "extension").returncode == 0
    assert not path.exists()
    assert (path.parent / "notes").exists()
    assert not (home.copilot / "tapui").exists()


def test_what_a_person_has_changed_is_left_alone(home: Home) -> None:
    extension = ExtensionFile(home.copilot)
    extension.install()
    changed = extension.path.read_bytes().replace(b"5_000", b"9_000")
    for found in (changed, b"// mine\n"):
        extension.path.write_bytes(found)
        assert extension.state() == "edited"
        for name in ("install", "uninstall"):
            done = ran(home, name, "extension")
            assert done.returncode == 1
            assert "move it away first" in done.stderr
            assert extension.path.read_bytes() == found


def test_a_link_is_not_followed(home: Home) -> None:
    extension = ExtensionFile(home.copilot)
    extension.install()
    extension.path.rename(home.root / "elsewhere")
    extension.path.symlink_to(home.root / "elsewhere")
    assert ran(home, "install", "extension").returncode == 1
    assert (home.root / "elsewhere").read_bytes() == extension.content()


def test_an_older_one_is_replaced(home: Home) -> None:
    extension = ExtensionFile(home.copilot)
    extension.install()
    older = b"// an older one\n"
    seal = re.search(rb"// written by tapui .*\n\Z", extension.content())
    assert seal
    digest = hashlib.sha256(older).hexdigest().encode()
    extension.path.write_bytes(older + b"// written by tapui 0.0.9, sha256 " + digest + b"\n")
    assert extension.state() == "outdated"
    assert ran(home, "install", "extension").returncode == 0
    assert extension.state() == "installed"
