// Opens each page in each theme and width, and prints what a reader would stumble over as JSON.
// node look.js CHROMIUM PAGE...
const fs = require("fs");
const { pathToFileURL } = require("url");
const { chromium } = require("playwright-core");

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [executablePath, ...files] = process.argv.slice(2);

async function look(browser, file, colorScheme, width) {
  const found = { file, colorScheme, width, console: [] };
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60000); // a busy machine is no finding
  page.on("console", (message) => {
    if (message.type() === "error") found.console.push(message.text());
  });
  page.on("pageerror", (error) => found.console.push(error.message));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) found.console.push(`loads ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => !document.querySelector(".chart:not(.drawn, details:not([open]) *)"));
  const folded = await page.evaluate(async () => {
    const heading = document.querySelector("main summary [id]");
    location.hash = encodeURIComponent(heading.id);
    await new Promise((done) => setTimeout(done, 300));
    return !heading.closest("details").open;
  });
  if (folded) found.console.push("a link leaves its part folded");
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("main details")) details.open = true;
  });
  await page.evaluate(() => document.querySelectorAll("main a:not([href])").forEach((link) => link.click()));
  await page.waitForTimeout(50); // the folded parts are measured when they open
  const axis = await page.locator("svg.marks", { hasText: "Sum of width" }).textContent();
  if (!axis.includes("5,000")) found.console.push("a chart's data were changed with its size");
  found.title = await page.title();
  found.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  found.charts = await page.evaluate(() => document.querySelectorAll(".chart.drawn").length);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run({ preload: false }));
  found.violations = violations
    .map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`);
  found.legend = await withKeyboard(page);
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 700, height: 1000 }); // a sheet of A4 between its margins
  found.paper = await page.evaluate(() => ({
    ground: getComputedStyle(document.body).backgroundColor,
    navigation: [...document.querySelectorAll("nav")].some((nav) => nav.offsetHeight > 0),
    pictures: [...document.querySelectorAll(".chart img")].filter((img) => img.offsetHeight > 0).length,
    twice: [...document.querySelectorAll(".vega-embed")].filter((chart) => chart.offsetHeight > 0).length,
    cut: [...document.querySelectorAll("img, table, pre")].filter(
      (element) => element.getBoundingClientRect().right > innerWidth + 1).length,
  }));
  await context.close();
  return found;
}

// How many lines of a chart are faded: at first, after Enter in its legend, after Escape.
async function withKeyboard(page) {
  const entry = page.locator("[role=button]").first();
  if (!(await entry.count())) return [];
  const faded = async () => {
    await page.waitForTimeout(100);
    return page.evaluate(() => [...document.querySelector(".chart").querySelectorAll(".mark-line path")]
      .filter((line) => Number(line.getAttribute("opacity")) < 1).length);
  };
  const counts = [await faded()];
  await entry.focus();
  for (const key of ["Enter", "Escape"]) {
    await page.keyboard.press(key);
    counts.push(await faded());
  }
  return counts;
}

(async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const all = [];
  for (const file of files) {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [360, 1200]) all.push(await look(browser, file, colorScheme, width));
    }
  }
  await browser.close();
  console.log(JSON.stringify(all));
})();
