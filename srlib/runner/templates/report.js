// What is larger than its box fades where it is cut, and can be reached with the keyboard alone.
function reachable() {
  for (const box of document.querySelectorAll(".scroll")) {
    const cut = () => {
      box.classList.toggle("after", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
      box.classList.toggle("below", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
    };
    const larger = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    const about = { tabindex: "0", role: "group", "aria-label": "A table that scrolls" };
    for (const [name, value] of Object.entries(about)) {
      if (larger) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
    box.onscroll = cut;
    cut();
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
  wide.addEventListener("change", fold);
  fold();
  const links = new Map();
  for (const link of contents.querySelectorAll("a")) {
    const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (heading) links.set(heading, link);
    link.addEventListener("click", () => { if (!wide.matches) contents.open = false; });
  }
  const mark = () => {
    const above = [...links.keys()].filter((heading) => heading.offsetParent && heading.getBoundingClientRect().top < 120);
    for (const [heading, link] of links) {
      if (heading !== above.at(-1)) link.removeAttribute("aria-current");
      else if (!link.hasAttribute("aria-current")) {
        link.setAttribute("aria-current", "true");
        if (wide.matches) link.scrollIntoView({ block: "nearest" });
      }
    }
  };
  const watch = new IntersectionObserver(mark, { rootMargin: "-100px 0px 0px" });
  for (const heading of links.keys()) watch.observe(heading);
}

// What a link leads to is unfolded.
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement) if (part.localName === "details") part.open = true;
  target?.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

// One switch for all code of the page; what is read stays where it is.
const code = document.querySelectorAll("details.code");
if (code.length && contents) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Show all code";
  button.addEventListener("click", () => {
    const open = button.textContent === "Show all code";
    const here = [...document.querySelectorAll("main > :not(.code)")].find((part) => part.getBoundingClientRect().bottom > 0);
    const top = here.getBoundingClientRect().top;
    for (const details of code) details.open = open;
    button.textContent = open ? "Hide all code" : "Show all code";
    scrollBy(0, here.getBoundingClientRect().top - top);
  });
  contents.parentElement.append(button);
}
