"""The site is built without a warning, within a minute, and every link in it leads somewhere."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MISSING = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
needs_docs = pytest.mark.skipif(bool(MISSING), reason=f"pip install '.[docs]' brings {', '.join(MISSING)}")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "website", "--folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@needs_docs
def test_c08_the_site_is_built_strictly_with_every_topic(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert len(list((site / "language-table").glob("*.html"))) > 15
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "a starred target" in index


@needs_docs
def test_c08_nothing_of_the_site_is_elsewhere(site: Path) -> None:
    styles = "".join(p.read_text(encoding="utf-8") for p in site.rglob("*.css"))
    assert "fonts.googleapis" not in styles
    assert "url(http" not in styles
    for page in site.rglob("*.html"):
        assert "fonts.g" not in page.read_text(encoding="utf-8"), page
