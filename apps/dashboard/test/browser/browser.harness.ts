import { join } from "node:path";
import axe from "axe-core";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { inviteAsOperator, sharedCookie, type Visited } from "./console-client.ts";
import { acceptInvitation } from "./world.ts";

/** Whether the tests take screenshots, which needs a third of their time. */
const TAKES_SCREENSHOTS = process.env["TEST_SCREENSHOTS"] === "1";
/** The directory of the screenshots. */
const OUTPUT_DIRECTORY = join(import.meta.dirname, "../../test-output");

const DESKTOP = { width: 1280, height: 900 };
/** Limits the wait for an element of a page. Too low: fails good tests on a busy machine. */
const PAGE_TIMEOUT_MS = 120_000;
/** The window of a narrow phone. */
export const PHONE = { width: 360, height: 740 };
/** The window of a small desktop at a zoom of 200 %. */
const ZOOMED = { width: 640, height: 450 };
const THEMES = ["light", "dark"] as const;
/** The windows of the screenshots: common sizes. */
const PICTURES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const;

/** The browser of one person: a separate browser context with its own cookies. */
export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Opens a page of the dashboard: `/sign-in`. */
  open(path: string): Promise<Page>;
}

/**
 * A console message that never fails a test: on a busy machine the service may answer 503 for a list that takes too long.
 * The test still checks what the page shows then.
 */
const TOO_BUSY = /status of 503 \(Service Unavailable\) .*\/console\/v1\/systems\/[^/]+\/(rides\?|partners$)/;

/**
 * The browser of all test files, which run one after another in one process. It ends with this process, because it reads its
 * commands from a pipe. A browser that another process launches would cost a third process, which passes each message on.
 */
let launched: Promise<Browser> | undefined;

function launchBrowser(): Promise<Browser> {
  const executablePath = inject("browserProgram");
  return (launched ??= chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] }));
}

/** Connects a test file to the shared browser and service. Call it once in each test file. */
export function openBrowser() {
  const world = inject("world");
  let browser: Browser;
  let contexts: BrowserContext[] = [];
  /** The visitors whose pages the tests of this file share. */
  const readers = new Map<Visited, Visitor>();
  let complaints: string[] = [];
  let allowed: RegExp[] = [];

  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterEach(async ({ task }) => {
    const open = [...contexts, ...[...readers.values()].map(({ context }) => context)];
    if (task.result?.state === "fail") {
      await takePictures(open, task.name);
      // The next test gets a new page, because this one may be broken.
      contexts = open;
      readers.clear();
    }
    for (const context of contexts) await context.close();
    for (const { page } of readers.values()) await leave(page);
    // Read only after the pages have ended, because the last request of a page may fail after the last line of the test.
    const found = complaints.filter((text) => ![...allowed, TOO_BUSY].some((pattern) => pattern.test(text)));
    contexts = [];
    complaints = [];
    allowed = [];
    // The browser writes script errors, failed requests and violations of the Content-Security-Policy to the console.
    expect(found).toEqual([]);
  });
  afterAll(async () => {
    for (const { context } of readers.values()) await context.close();
  });

  async function visit(options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({
      baseURL: world.url,
      viewport: DESKTOP,
      locale: "en-GB",
      timezoneId: "Europe/Vienna",
      ...options,
    });
    context.setDefaultTimeout(PAGE_TIMEOUT_MS);
    contexts.push(context);
    const page = await context.newPage();
    page.on("console", (message) => {
      const isComplaint = message.type() === "error" || message.type() === "warning";
      // Adds the URL, because the message about a failed request does not contain it.
      if (isComplaint) complaints.push(`${message.text()} ${message.location().url}`);
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    const open = async (path: string) => {
      await page.goto(`/dashboard${path}`);
      return page;
    };
    return { page, context, open };
  }

  return {
    world,
    visit,
    /** Allows console messages that match: they do not fail the test. */
    allow(pattern: RegExp): void {
      allowed.push(pattern);
    },
    /** Returns a visitor who is signed in with a session that some tests share. No test may end this session. */
    async visitAs(who: Visited, options: BrowserContextOptions = {}) {
      const visitor = await visit(options);
      await addCookie(visitor.context, await sharedCookie(world, who));
      return visitor;
    },
    /**
     * Like `visitAs`, but in the page that earlier tests of this file used. A new page starts two more processes of the
     * browser. For tests that only open pages and look at them, and that reset the window and the media.
     */
    async readAs(who: Visited) {
      let reader = readers.get(who);
      if (reader === undefined) {
        reader = await visit();
        contexts = contexts.filter((context) => context !== reader?.context);
        readers.set(who, reader);
      }
      await addCookie(reader.context, await sharedCookie(world, who));
      return reader;
    },
    /**
     * Returns a new person with a session that the test may end: an admin of a partner, or of the operator if `partnerId` is
     * null.
     */
    async visitAsNewPerson(partnerId: string | null, options: BrowserContextOptions = {}) {
      const visitor = await visit(options);
      const link = await inviteAsOperator(world, "admin", partnerId);
      await addCookie(visitor.context, await acceptInvitation(world.url, link, "Ada Lovelace"));
      return visitor;
    },
    /** Returns a visitor with a given session cookie: `name=value`. */
    async visitWith(cookie: string, options: BrowserContextOptions = {}) {
      const visitor = await visit(options);
      await addCookie(visitor.context, cookie);
      return visitor;
    },
  };
}

/**
 * Returns the name of the navigation's link to a page: its title, and the number of problems on the page if there are any.
 * The number is read in the background, so it may appear at any moment.
 */
export function navigationName(title: string): RegExp {
  return new RegExp(`^${title}( ?\\d+ to look at)?$`);
}

/** Returns the navigation's link to a page. */
export function navigationLink(page: Page, title: string): Locator {
  return page.getByRole("link", { name: navigationName(title) });
}

/** Sets a filter of a list, by choosing a value or by typing it. */
export async function setFilter(page: Page, filter: string, value: string): Promise<void> {
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  const menu = page.locator("search [popover]:popover-open");
  await menu.getByRole("button", { name: filter, exact: true }).click();
  const choice = menu.getByRole("button", { name: value, exact: true });
  const box = menu.getByLabel(filter);
  await choice.or(box).waitFor();
  if (await choice.isVisible()) return choice.click();
  await box.fill(value);
  await page.keyboard.press("Enter");
}

const EMPTY_PAGE = "/dashboard/empty";

/**
 * Opens an empty page, which ends the scripts and requests of the page before. Its header is that of all pages: without the
 * header, the browser would start a process for the empty page and another one for the next page.
 */
async function leave(page: Page): Promise<void> {
  if (page.url().endsWith(EMPTY_PAGE)) return;
  const headers = { "cross-origin-opener-policy": "same-origin" };
  await page.route(`**${EMPTY_PAGE}`, (route) => route.fulfill({ contentType: "text/html", headers, body: "" }));
  await page.goto(EMPTY_PAGE);
  await page.unrouteAll();
}

/** Saves screenshots of the open pages of a failed test. */
async function takePictures(contexts: readonly BrowserContext[], test: string): Promise<void> {
  const name = test.replaceAll(/\W+/g, "-").slice(0, 60);
  const pages = contexts.flatMap((context) => context.pages());
  for (const [index, page] of pages.entries()) {
    await page.screenshot({ path: join(OUTPUT_DIRECTORY, `failed-${name}-${index + 1}.png`), fullPage: true });
  }
}

async function addCookie(context: BrowserContext, cookie: string): Promise<void> {
  const [name = "", value = ""] = cookie.split("=");
  await context.addCookies([{ name, value, url: inject("world").url, httpOnly: true, sameSite: "Lax" }]);
}

/** The windows in which pages are checked. */
const DEVICES = { desktop: DESKTOP, phone: PHONE } as const;
type Look = readonly [device: keyof typeof DEVICES, theme: (typeof THEMES)[number]];
/** The looks in which every page is checked. */
const LOOKS: readonly Look[] = [
  ["desktop", "light"],
  ["desktop", "dark"],
  ["phone", "light"],
];
/** Looks for the page with all components, some of which only phones show. */
export const ALL_LOOKS: readonly Look[] = [...LOOKS, ["phone", "dark"]];

/**
 * Checks a page in some looks and at a zoom of 200 %: nothing is wider than the window, no list scrolls inside the page, and
 * axe (an accessibility checker) finds nothing by the rules of the look, or by all rules in `ALL_LOOKS`. With
 * `TEST_SCREENSHOTS=1`, takes screenshots on desktop and phone in both themes.
 */
export async function inspect(page: Page, name: string, looks = LOOKS): Promise<void> {
  if (TAKES_SCREENSHOTS) await takeScreenshots(page, name);
  for (const look of looks) {
    const [device, theme] = look;
    await page.setViewportSize(DEVICES[device]);
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    // Further down, any control may stand right below the navigation, which sticks to the top on a phone.
    await page.evaluate(() => scrollTo(0, 0));
    const rules = looks === ALL_LOOKS ? ALL_RULES : rulesOf(look);
    expect.soft(await violations(page, rules), `axe on ${name}, ${device}, ${theme}`).toEqual([]);
    await expectOneScroll(page, `${name} on a ${device}`);
  }
  await page.setViewportSize(ZOOMED);
  await expectOneScroll(page, `${name} at 200 %`);
  await page.setViewportSize(DESKTOP);
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
}

async function takeScreenshots(page: Page, name: string): Promise<void> {
  for (const [device, size] of Object.entries(PICTURES)) {
    await page.setViewportSize(size);
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.screenshot({ path: join(OUTPUT_DIRECTORY, `${name}-${device}-${theme}.png`), fullPage: true });
    }
  }
}

/** Checks that only the page scrolls vertically, and no list in it. Wide tables may scroll sideways on a desktop. */
async function expectOneScroll(page: Page, name: string): Promise<void> {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect.soft(overflow, `${name} scrolls sideways`).toBeLessThanOrEqual(0);
  const lists = await page.locator(".table-scroll").evaluateAll((boxes) =>
    boxes.flatMap((box) => {
      const isTaller = box.scrollHeight > box.clientHeight;
      const isWider = box.scrollWidth > box.clientWidth && innerWidth <= 640;
      return isTaller || isWider ? [box.getAttribute("aria-label")] : [];
    }),
  );
  expect.soft(lists, `lists that scroll within ${name}`).toEqual([]);
}

/** The rules of WCAG 2.2 AA and axe's best practices. */
const ALL_RULES: axe.RunOnly = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
};

/**
 * Returns the rules for a page in a look. A theme changes nothing but colours, and a narrow window nothing but sizes: the
 * components that look different on a phone are on the page of all components, which is checked by all rules in all looks.
 */
function rulesOf([device, theme]: Look): axe.RunOnly {
  if (theme === "dark") return { type: "rule", values: ["color-contrast"] };
  return device === "phone" ? { type: "rule", values: ["target-size", "scrollable-region-focusable"] } : ALL_RULES;
}

/** Returns the violations that axe finds on a page. */
async function violations(page: Page, runOnly: axe.RunOnly): Promise<readonly string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(`${axe.source}; undefined`);
  return page.evaluate(async (rules) => {
    const { violations: found } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
      runOnly: rules,
      // Only violations: describing every element that passes takes longer than finding the violations.
      resultTypes: ["violations"],
    });
    return found.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} at ${target.join(" ")}: ${failureSummary}`),
    );
  }, runOnly);
}
