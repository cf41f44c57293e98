// Keys go from slide to slide; without this script the page scrolls.
"use strict";
const slides = [...document.querySelectorAll(".slide")];

function current() {
  const middle = window.innerHeight / 2;
  const at = slides.findIndex((slide) => slide.getBoundingClientRect().bottom > middle);
  return at < 0 ? slides.length - 1 : at;
}

function show(at) {
  const slide = slides[Math.max(0, Math.min(slides.length - 1, at))];
  slide.scrollIntoView({ behavior: "instant", block: "start" });
  history.replaceState(null, "", "#" + slide.id);
}

const STEPS = {
  ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1,
  Home: -Infinity, End: Infinity,
};

document.addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  show(current() + (event.key === " " && event.shiftKey ? -1 : step));
});
