// What is wider than the screen fades where it is cut, keeps its first column where there is room,
// and can be reached and moved sideways with the keyboard alone.
function cut(box) {
  const hidden = box.scrollWidth - box.clientWidth;
  box.classList.toggle("before", hidden > 1 && box.scrollLeft > 1);
  box.classList.toggle("after", hidden > 1 && box.scrollLeft < hidden - 1);
}
function reachable() {
  for (const box of document.querySelectorAll(".scroll")) {
    const wider = box.scrollWidth > box.clientWidth + 1;
    const first = box.querySelector("tr > *");
    box.classList.toggle("held", wider && !!first && first.offsetWidth < 0.45 * box.clientWidth);
    cut(box);
    box.onscroll = () => cut(box);
    if (wider) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Scrolls sideways");
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
  }
}
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true); // what was folded has no width
document.fonts?.ready.then(reachable);
reachable();

// The contents are open in the margin and folded above the text; the section at hand is marked.
const contents = document.querySelector(".contents details");
if (contents) {
  const wide = matchMedia("(min-width: 62rem)");
  const fold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();
  const links = new Map();
  for (const link of contents.querySelectorAll("a")) {
    const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (heading) links.set(heading, link);
    link.addEventListener("click", () => { if (!wide.matches) contents.open = false; });
  }
  const headings = [...links.keys()];
  const mark = () => {
    const above = headings.filter((heading) => heading.offsetParent && heading.getBoundingClientRect().top < 120);
    for (const [heading, link] of links) {
      const here = heading === above.at(-1);
      if (here === link.hasAttribute("aria-current")) continue;
      link.toggleAttribute("aria-current", here);
      if (!here) continue;
      link.setAttribute("aria-current", "true");
      if (wide.matches) link.scrollIntoView({ block: "nearest" });
    }
  };
  const watch = new IntersectionObserver(mark, { rootMargin: "-100px 0px 0px" });
  for (const heading of headings) watch.observe(heading);
}

// One switch for all code of the page, which stays where it is meanwhile.
const code = document.querySelectorAll("details.code");
if (code.length && contents) {
  const button = document.createElement("button");
  const parts = [...document.querySelectorAll("main > *")];
  let open = false;
  button.type = "button";
  button.textContent = "Show all code";
  button.addEventListener("click", () => {
    const here = parts.find((part) => !part.matches(".code") && part.getBoundingClientRect().bottom > 0);
    const top = here.getBoundingClientRect().top;
    open = !open;
    for (const details of code) details.open = open;
    button.textContent = open ? "Hide all code" : "Show all code";
    scrollBy(0, here.getBoundingClientRect().top - top);
  });
  contents.parentElement.append(button);
}
