// Finds places by their words: each of PLACES is an address, page, heading and text.
const search = document.querySelector("#search");
const results = document.querySelector("#results");
const folded = PLACES.map(([, ...texts]) => texts.map((text) => text.toLowerCase()));
const SHOWN = 20;

// Headings before texts, and the API reference, which has a search of its own, last.
function found(words) {
  const rank = (i) => words.filter((word) => folded[i][1].includes(word)).length
    - (PLACES[i][0].startsWith("api/") ? words.length + 1 : 0);
  return [...folded.keys()]
    .filter((i) => words.every((word) => folded[i].some((text) => text.includes(word))))
    .sort((i, j) => rank(j) - rank(i) || i - j);
}

function element(name, ...content) {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

// The text around the first of the words, which is marked.
function excerpt(i, words) {
  const text = PLACES[i][3];
  const at = Math.min(...words.map((word) => folded[i][2].indexOf(word)).filter((place) => place >= 0));
  const to = (end) => (end < text.length ? `${text.slice(0, end).replace(/\s\S*$/, "")} ...` : text);
  if (at === Infinity) return [to(140)];
  const word = words.find((word) => folded[i][2].startsWith(word, at));
  const start = text.lastIndexOf(" ", Math.max(at - 50, 0)) + 1;
  const mark = element("mark", text.slice(at, at + word.length));
  return [start ? "... " : "", text.slice(start, at), mark, to(at + 90).slice(at + word.length)];
}

function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const places = words.length ? found(words) : [];
  const count = places.length === 1 ? "1 place" : `${places.length || "no"} places`;
  document.querySelector("#count").textContent = !words.length ? ""
    : places.length > SHOWN ? `${count}, the first ${SHOWN} of them:` : `${count}${places.length ? ":" : ""}`;
  results.replaceChildren(...places.slice(0, SHOWN).map((i) => {
    const [address, page, heading] = PLACES[i];
    const link = element("a", heading);
    link.href = address;
    const of = element("span", page === heading ? "" : page);
    return element("li", link, " ", of, element("p", ...excerpt(i, words)));
  }));
}

search.closest("form").hidden = false;
search.closest("form").addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", show);
search.value = new URLSearchParams(location.search).get("q") ?? search.value;
show();
