// What is larger than its box can be reached with the keyboard alone.
function reachable() {
  for (const box of document.querySelectorAll(".scroll")) {
    const larger = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    box.tabIndex = larger ? 0 : -1;
    box.role = larger ? "group" : null;
    box.ariaLabel = larger ? "A part that scrolls" : null;
  }
}
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true); // what was folded has no width
document.fonts.ready.then(reachable);

// The contents are open in the margin and folded above the text; the section at hand is marked.
const contents = document.querySelector(".contents details");
if (contents) {
  const wide = matchMedia("(min-width: 62rem)");
  const fold = () => { contents.open = wide.matches; };
  wide.onchange = contents.querySelector("ol").onclick = fold;
  fold();
  const links = [...contents.querySelectorAll("a[href^='#']")];
  const heading = (link) => document.getElementById(decodeURIComponent(link.hash.slice(1)));
  const isAbove = (part) => part?.offsetParent && part.getBoundingClientRect().top < 120;
  const mark = () => {
    const here = links.findLast((link) => isAbove(heading(link)));
    if (here?.ariaCurrent) return;
    for (const link of links) link.ariaCurrent = link === here ? "true" : null;
    if (wide.matches) here?.scrollIntoView({ block: "nearest" });
  };
  addEventListener("scroll", mark, { passive: true });
}

// A link to a folded part unfolds it; browsers do so for what is inside.
function reveal() {
  const folded = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("summary");
  if (!folded) return;
  folded.parentElement.open = true;
  folded.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// One switch for all code of the page.
const code = document.querySelectorAll("details.code");
if (contents && code.length) {
  const button = Object.assign(document.createElement("button"), { textContent: "Show all code" });
  button.onclick = () => {
    const open = button.textContent.startsWith("Show");
    for (const details of code) details.open = open;
    button.textContent = open ? "Hide all code" : "Show all code";
  };
  contents.after(button);
}
