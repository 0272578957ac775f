"""The page in headless Chromium: it lets in, stays up to date, obeys the keyboard, and runs nothing of a job's."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.conformance.site import Site
from tests.waiting import wait_for
from tests.web.browser import Browser, browser
from tests.web_client import WebPage

HOSTILE = "<img src=x onerror='document.title=`taken`'>"


def base(page: WebPage) -> str:
    return f"http://127.0.0.1:{page.port}{page.prefix}"


def state(chromium: Browser, job: str) -> str:
    cell = f"tr:has(#job-{job}) .state"
    return chromium.text(cell)


def test_the_link_leads_to_the_jobs_and_out_of_the_address(page: WebPage, chromium: Browser) -> None:
    wait_for("the list of jobs", lambda: chromium.current_url == f"{base(page)}jobs")
    assert "token" not in chromium.current_url
    assert chromium.execute_script("return document.cookie") == ""  # no script reads it
    chromium.back()
    assert "token" not in chromium.current_url  # nor is the link among the pages to go back to


def test_a_link_opened_by_a_file_lets_in(site: Site, page: WebPage, tmp_path: Path) -> None:
    """As `hpcbatch web` has a browser open it: a chain that began elsewhere, on which Strict cookies do not travel."""
    start = tmp_path / "start.html"
    link = f"http://127.0.0.1:{page.port}{page.links[-1]}"
    start.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={link}">')
    with browser() as found:
        found.get(start.as_uri())
        wait_for("the list of jobs", lambda: "Jobs" in found.text("h1"))


def test_the_list_follows_the_jobs(site: Site, page: WebPage, chromium: Browser) -> None:
    job = site.sbatch("-H", "-J", "later", "-o", "/dev/null", "--wrap", "sleep 600")
    wait_for("the job in the list", lambda: state(chromium, job) == "Held")
    chromium.execute_script(
        f"document.getElementById('job-{job}').focus(); document.getElementById('pick-{job}').checked = true"
    )
    site.run("scontrol", "release", job)
    wait_for("the new state", lambda: state(chromium, job) == "Running")
    # who uses the keyboard or has chosen a job loses nothing by that
    assert chromium.execute_script("return document.activeElement.id") == f"job-{job}"
    assert chromium.execute_script(f"return document.getElementById('pick-{job}').checked") is True
    assert "1 running" in chromium.text("[role=status]")


def test_hold_release_and_delete_with_the_keyboard(site: Site, page: WebPage, chromium: Browser) -> None:
    wide = site.qsub("-l", "select=3:ncpus=2,walltime=1:00:00", "-o", "/dev/null", "-j", "oe", stdin="sleep 600\n")
    job = site.qsub("-N", "mine", "-l", "walltime=1:00:00", "-o", "/dev/null", "-j", "oe", stdin="true\n")
    site.wait_state(wide, "R")
    chromium.get(f"{base(page)}jobs/{job}")

    def press(button: str) -> None:
        chromium.execute_script(f"document.getElementById('{button}').focus()")
        chromium.press(Keys.ENTER)

    press(f"hold-{job}")
    wait_for("what was done", lambda: "Held: it starts after" in chromium.text("main .notice"))
    assert site.state(job) == "H"
    press(f"release-{job}")
    wait_for("what was done", lambda: "Released" in chromium.text("main .notice"))
    assert site.state(job) == "Q"
    press(f"delete-{job}")
    wait_for("the question", lambda: "Delete a job?" in chromium.text("h1"))
    assert site.state(job) == "Q"
    press("sure")
    wait_for("the job's page", lambda: "Deletion was requested" in chromium.text("main .notice"))
    site.wait_end(job)


def test_every_control_can_be_reached_and_is_seen(site: Site, page: WebPage, chromium: Browser) -> None:
    site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    chromium.get(f"{base(page)}jobs")
    seen = []
    for _ in range(60):
        chromium.press(Keys.TAB)
        found = chromium.execute_script(
            "const one = document.activeElement, style = getComputedStyle(one);"
            "const name = one.id || one.name || one.innerText;"
            "return [one.tagName, name, style.outlineStyle, parseFloat(style.outlineWidth)]"
        )
        if found[0] == "BODY" or found in seen:
            break
        seen.append(found)
    names = [name for _, name, _, _ in seen]
    assert names[0] == "To the content"
    for wanted in ("Jobs", "Nodes", "state", "q", "Show", "sort-name", "delete-chosen"):
        assert wanted in names
    assert all(style != "none" and width >= 2 for _, _, style, width in seen), seen


def test_whatever_takes_the_focus_can_be_found_again(site: Site, page: WebPage, chromium: Browser) -> None:
    """What is made anew must have an id, or who uses the keyboard begins at the top every few seconds."""
    job = site.qsub("-l", "walltime=00:10:00", "-j", "oe", stdin="echo here; sleep 600\n")
    site.wait_state(job, "R")
    for path in ("jobs", f"jobs/{job}", "nodes", "queues", "history"):
        chromium.get(f"{base(page)}{path}")
        without = chromium.execute_script(
            """
            const kinds = "a[href]:not([tabindex]), button, input:not([type=hidden]), summary, [tabindex='0']";
            return [...document.querySelectorAll(`[id^=part-] :is(${kinds})`)].filter((one) => !one.id)
              .map((one) => one.outerHTML);
            """
        )
        assert without == [], path


def test_landmarks_labels_and_headings(site: Site, page: WebPage, chromium: Browser) -> None:
    job = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    for path in ("jobs", f"jobs/{job}", "nodes", "queues", "history"):
        chromium.get(f"{base(page)}{path}")
        missing = chromium.execute_script(
            """
            const wrong = [];
            for (const tag of ["header", "nav", "main", "footer", "h1"])
              if (document.querySelectorAll(tag).length === 0) wrong.push(`no ${tag}`);
            if (document.querySelectorAll("h1, main").length !== 2) wrong.push("not one h1 and main");
            for (const one of document.querySelectorAll("input:not([type=hidden]), select, progress"))
              if (!one.labels.length && !one.ariaLabel) wrong.push(`no label: ${one.outerHTML}`);
            for (const one of document.querySelectorAll("table")) {
              if (!one.caption) wrong.push("no caption");
              for (const head of one.querySelectorAll("th")) if (!head.scope) wrong.push(`no scope: ${head.outerHTML}`);
            }
            for (const one of document.querySelectorAll("svg[role=img], [role=region]"))
              if (!one.ariaLabel) wrong.push(`no name: ${one.outerHTML.slice(0, 80)}`);
            const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
            if (new Set(ids).size !== ids.length) wrong.push("an id twice");
            return wrong;
            """
        )
        assert missing == [], path


def test_text_can_be_read_in_light_and_dark(site: Site, page: WebPage, chromium: Browser, pictures: Path) -> None:
    """A contrast of 4.5 to 1 (WCAG 2.1, 1.4.3), and no page wider than the screen."""
    site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    job = site.qsub("-N", "wave", "-l", "walltime=00:10:00", "-j", "oe", stdin="echo here; sleep 600\n")
    site.wait_state(job, "R")
    for dark in (False, True):
        for width in (1280, 390):
            chromium.emulate(dark=dark, width=width)
            for path in ("jobs", f"jobs/{job}", "nodes", "queues", "history"):
                chromium.get(f"{base(page)}{path}")
                name = f"{path.replace('/', '-')}-{'dark' if dark else 'light'}-{width}.png"
                chromium.picture(pictures / name)
                assert chromium.execute_script("return document.documentElement.scrollWidth <= innerWidth"), name
                assert chromium.execute_script(_FAINT) == [], name


_FAINT = """
const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
const light = ([r, g, b]) => [r, g, b]
  .map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
const ground = (one) => {
  for (let at = one; at; at = at.parentElement) {
    const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
    if (a > 0.99) return [r, g, b];
  }
  return [255, 255, 255];
};
const faint = [];
for (const one of document.querySelectorAll("body *")) {
  const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const box = one.getBoundingClientRect();
  if (!own || !box.width || one.closest("svg, option, .skip") || one.checkVisibility?.() === false) continue;
  const [a, b] = [light(parse(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(`${one.tagName}.${one.className}: ${one.innerText.slice(0, 30)}`);
}
return faint;
"""


def test_output_is_shown_as_it_grows(site: Site, page: WebPage, chromium: Browser) -> None:
    script = "echo first\nwhile [ ! -e go ]; do sleep 0.1; done\necho '<b>second</b>'\nsleep 600\n"
    job = site.qsub("-N", "talk", "-l", "walltime=00:10:00", "-j", "oe", stdin=f"cd $PBS_O_WORKDIR\n{script}")
    site.wait_state(job, "R")
    chromium.get(f"{base(page)}jobs/{job}")
    wait_for("the first line", lambda: chromium.text(".output pre").strip() == "first")
    (site.work / "go").touch()
    wait_for("the second line", lambda: chromium.text(".output pre").strip() == "first\n<b>second</b>")


def test_what_was_scrolled_to_stays_in_sight(site: Site, page: WebPage, chromium: Browser) -> None:
    script = "seq 1 500\nwhile [ ! -e go ]; do sleep 0.1; done\necho more\nsleep 600\n"
    job = site.qsub("-N", "talk", "-l", "walltime=00:10:00", "-j", "oe", stdin=f"cd $PBS_O_WORKDIR\n{script}")
    site.wait_state(job, "R")
    chromium.get(f"{base(page)}jobs/{job}")
    wait_for("the output", lambda: "500" in chromium.text(".output pre"))
    region = "document.querySelector('.output')"
    assert chromium.execute_script(f"return {region}.scrollTop") == 0  # which is its end
    chromium.execute_script(f"{region}.scrollTop = -800")
    (site.work / "go").touch()
    wait_for("more", lambda: "more" in chromium.text(".output pre"))
    assert chromium.execute_script(f"return {region}.scrollTop") == -800


@pytest.mark.parametrize("name", [HOSTILE, '"><script>document.title="taken"</script>', "' onfocus=alert(1) '"])
def test_names_of_jobs_run_nowhere(site: Site, page: WebPage, chromium: Browser, name: str) -> None:
    job = site.sbatch("-H", "-J", name, "-o", "/dev/null", "--comment", name, "--wrap", "true")
    for path in ("jobs", f"jobs/{job}", f"jobs?q={name.replace('#', '')}"):
        chromium.get(f"{base(page)}{path}")
        assert "taken" not in chromium.execute_script("return document.title")
        assert chromium.execute_script("return document.querySelectorAll('main img, main script').length") == 0
    chromium.get(f"{base(page)}jobs/{job}")
    assert name in chromium.text("h1")


def test_a_page_of_others_changes_nothing(site: Site, page: WebPage, chromium: Browser, tmp_path: Path) -> None:
    job = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    evil = tmp_path / "evil.html"
    evil.write_text(
        f'<form method="post" action="{base(page)}change"><input name="action" value="release">'
        f'<input name="job" value="{job}"></form><iframe src="{base(page)}jobs"></iframe>'
        "<script>document.forms[0].submit()</script>"
    )
    chromium.get(evil.as_uri())
    wait_for("the refusal", lambda: "Not here" in chromium.text("h1"))
    assert site.state(job) == "H"
    chromium.log()  # what it says of the frame and of the refusal


def test_it_says_when_the_program_has_gone(site: Site, page: WebPage, chromium: Browser) -> None:
    wait_for("the jobs", lambda: chromium.current_url.endswith("/jobs"))
    page.stop()
    wait_for("the notice", lambda: not chromium.execute_script("return document.getElementById('lost').hidden"))
    chromium.log()  # connections that were refused


def test_without_scripts(site: Site, page: WebPage) -> None:
    job = site.sbatch("-H", "-J", "later", "-o", "/dev/null", "--wrap", "sleep 600")
    with browser(scripts=False) as found:
        found.get(f"http://127.0.0.1:{page.port}{page.links[-1]}")
        wait_for("the jobs", lambda: found.current_url.endswith("/jobs"))
        assert "later" in found.page_source
        found.click(f"#pick-{job}")
        found.click("#release-chosen")
        wait_for("what was done", lambda: "Released" in found.page_source)
        found.get(f"{base(page)}jobs/{job}")
        assert "Running" in found.page_source or "Queued" in found.page_source
