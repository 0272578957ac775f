// What htmx does not do by itself while it brings parts of a page up to date. Without scripts all pages can be read.
"use strict";

const lost = document.getElementById("lost");
const regions = (part) => [...part.querySelectorAll("[role=region]")];
let places = new Map();

// A page that nobody sees asks for nothing.
document.body.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden) event.preventDefault();
});

// What somebody marks, or has opened, stays.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  const part = event.detail.target;
  const selection = document.getSelection();
  const isMarked = !selection.isCollapsed && part.contains(selection.anchorNode);
  if (isMarked || part.querySelector("details[open]")) event.detail.shouldSwap = false;
  places = new Map(regions(part).map((one) => [one.ariaLabel, [one.scrollLeft, one.scrollTop]]));
});

// What somebody has scrolled to stays in sight.
document.body.addEventListener("htmx:afterSwap", (event) => {
  for (const one of regions(document.getElementById(event.detail.target.id) ?? document)) {
    const place = places.get(one.ariaLabel);
    if (place) [one.scrollLeft, one.scrollTop] = place;
  }
});

for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  document.body.addEventListener(name, () => (lost.hidden = false));
}
document.body.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) lost.hidden = true;
});
