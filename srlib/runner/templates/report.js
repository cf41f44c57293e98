// What is wider than the screen can be reached, and moved sideways, with the keyboard alone.
function reachable() {
  for (const box of document.querySelectorAll(".scroll, .chart")) {
    const wider = box.scrollWidth > box.clientWidth;
    box.toggleAttribute("tabindex", wider);
    if (wider) {
      box.tabIndex = 0;
      box.setAttribute("role", box.matches("figure") ? "figure" : "group");
      box.setAttribute("aria-label", "Scrolls sideways");
    } else {
      box.removeAttribute("role");
      box.removeAttribute("aria-label");
    }
  }
}
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true); // what was folded has no width
reachable();
