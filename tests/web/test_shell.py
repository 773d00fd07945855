"""The page around the rooms: navigation, keyboard, phones, and nothing from elsewhere."""

import re

import pytest
from playwright.sync_api import expect

from equipoise.web.server import room_names

pytestmark = pytest.mark.browser


def test_the_first_page_is_the_list_of_runs(room):
    window = room()
    expect(window).to_have_title(re.compile("Runs"))
    expect(window.get_by_role("row", name="page/leduc")).to_be_visible()


@pytest.mark.parametrize("name", room_names())
def test_each_room_is_in_the_navigation_and_opens(room, name):
    window = room(name)
    expect(window.locator("main h1")).to_be_visible()
    current = window.get_by_role("navigation").locator("[aria-current=page]")
    expect(current).to_have_attribute("href", f"/{name}")


def test_nothing_is_asked_of_another_machine(served, opened):
    asked = []
    window = opened("about:blank")
    window.on("request", lambda request: asked.append(request.url))
    window.goto(served.url)
    expect(window.get_by_role("row", name="page/leduc")).to_be_visible()
    assert asked and all(url.startswith(served.url) for url in asked)


def test_the_keyboard_reaches_the_content_first(room):
    window = room()
    expect(window.get_by_role("row", name="page/leduc")).to_be_visible()
    window.keyboard.press("Tab")
    expect(window.get_by_text("Skip to the content")).to_be_focused()
    window.keyboard.press("Enter")
    expect(window.locator("main")).to_be_focused()


@pytest.mark.parametrize("name", room_names())
def test_no_room_is_wider_than_a_phone(room, name):
    window = room(name, width=360, height=740)
    expect(window.locator("main h1")).to_be_visible()
    assert window.evaluate("document.documentElement.scrollWidth") <= 360
