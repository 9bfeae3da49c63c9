"""The site is built without a warning, every link in it leads somewhere, and a browser shows it as it should be."""

from __future__ import annotations

import fcntl
import functools
import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MISSING = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
needs_docs = pytest.mark.skipif(bool(MISSING), reason=f"pip install '.[docs]' brings {', '.join(MISSING)}")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site: built once, by whichever worker asks first."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            command = [sys.executable, "-m", "website", "--folder", str(folder)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            (folder / "done").touch()
    return folder / "site"


@needs_docs
def test_c08_the_site_is_built_strictly_with_every_topic(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert len(list((site / "language-table").glob("*.html"))) > 15
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "a starred target" in index
    nothing_is_elsewhere(site)  # a test of its own might wait for the other worker, which builds


def nothing_is_elsewhere(site: Path) -> None:
    styles = "".join(p.read_text(encoding="utf-8") for p in site.rglob("*.css"))
    assert "fonts.googleapis" not in styles
    assert "url(http" not in styles
    for page in site.rglob("*.html"):
        assert "fonts.g" not in page.read_text(encoding="utf-8"), page


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt-get install chromium")
PAGES = (
    "index.html", "tutorial/loops.html", "tutorial/looking-inside.html", "how-to/from-numba.html", "architecture.html",
    "reference/nn/convolutions.html", "reference/operators/linear-algebra.html", "language-table/closures.html",
    "gallery/index.html", "gallery/mandelbrot.html", "glossary.html",
)  # fmt: skip
PROBE = """<!doctype html><body><pre id="found"></pre><script>
const found = [], widths = [390, 1300], pages = %s;
async function look(page, width) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900; frame.src = page;
  document.body.append(frame);
  await new Promise(done => frame.onload = done);
  await new Promise(done => setTimeout(done, 200));
  const inner = frame.contentDocument, broken = [...inner.images].filter(i => i.complete && !i.naturalWidth);
  found.push({page, width, wide: inner.documentElement.scrollWidth, scripts: inner.documentElement.className,
    back: getComputedStyle(inner.body).backgroundColor, broken: broken.map(i => i.src)});
  frame.remove();
}
(async () => {
  for (const width of widths) for (const page of pages) await look(page, width);
  document.getElementById("found").textContent = JSON.stringify(found);
})();
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    (site / "probe.html").write_text(PROBE % json.dumps(PAGES), encoding="utf-8")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/probe.html"
    server.shutdown()
    server.server_close()
    thread.join()
    (site / "probe.html").unlink()


@needs_docs
@needs_browser
@pytest.mark.parametrize(("scheme", "is_dark"), [(1, False), (0, True)])
def test_c08_pages_fit_and_have_both_schemes(address: str, scheme: int, is_dark: bool, tmp_path: Path) -> None:
    command = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom",
        f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=60000", "--window-size=1400,1000",
        address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    text = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert text is not None, done.stdout[-500:]
    assert text[1], "the pages were not looked at in time"
    looks = json.loads(text[1].replace("&amp;", "&"))
    assert len(looks) == 2 * len(PAGES)
    for look in looks:
        assert look["wide"] <= look["width"], f"{look['page']} is {look['wide']} wide in a window of {look['width']}"
        assert "no-js" not in look["scripts"].split(), look
        assert look["broken"] == []
        red, green, blue = map(int, re.findall(r"\d+", look["back"])[:3])
        assert (max(red, green, blue) < 128) is is_dark, look
