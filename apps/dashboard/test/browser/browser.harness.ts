import { join } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { inviteAsOperator } from "./partners.ts";
import { acceptInvitation, type Visited } from "./world.ts";

/** Whether screenshots are taken, to be looked at: they are a third of these tests' time. */
const TAKES_SCREENSHOTS = process.env["TEST_SCREENSHOTS"] === "1";
/** Where they go. */
const OUTPUT_DIRECTORY = join(import.meta.dirname, "../../test-output");

const DESKTOP = { width: 1280, height: 900 };
/** Limits the wait for an element of a page. Too low: fails good tests on a busy machine. */
const PAGE_TIMEOUT_MS = 120_000;
/** As narrow as phones are. */
export const PHONE = { width: 360, height: 740 };
/** A small desktop at 200 %. */
const ZOOMED = { width: 640, height: 450 };
const THEMES = ["light", "dark"] as const;
/** The sizes of screenshots: windows that most people have. */
const PICTURES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const;

/** A person's browser: a context of its own, with its cookies. */
export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Opens a page of the dashboard: `/sign-in`. */
  open(path: string): Promise<Page>;
}

/** On a busy machine the service may refuse a list that takes too long. What the page then shows is looked at all the same. */
const TOO_BUSY = /status of 503 \(Service Unavailable\) .*\/console\/v1\/systems\/[^/]+\/(rides\?|partners$)/;

/** The tests' side of the shared browser and service: call it once in a test file. */
export function openBrowser() {
  const world = inject("world");
  let browser: Browser;
  let contexts: BrowserContext[] = [];
  let complaints: string[] = [];
  let allowed: RegExp[] = [];

  beforeAll(async () => {
    browser = await chromium.connect(inject("browserEndpoint"));
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") await takePictures(contexts, task.name);
    for (const context of contexts) await context.close();
    // Only now: what a page has asked for last may be refused after the test's own last line.
    const found = complaints.filter((text) => ![...allowed, TOO_BUSY].some((pattern) => pattern.test(text)));
    contexts = [];
    complaints = [];
    allowed = [];
    // Errors of scripts, refused requests and violations of the policy are written to the console.
    expect(found).toEqual([]);
  });
  afterAll(() => browser.close());

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
      // The text of a refused request does not say which it was.
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
    /** Messages on the console that a test expects: those that match are no failure. */
    allow(pattern: RegExp): void {
      allowed.push(pattern);
    },
    /** Somebody who is signed in: the same session for all tests, which none may end. */
    async visitAs(who: Visited, options: BrowserContextOptions = {}) {
      const visitor = await visit(options);
      await addCookie(visitor.context, world.cookies[who]);
      return visitor;
    },
    /**
     * Somebody new, who is signed in in a session that the test may end: an admin of a partner, or with null of the
     * operator.
     */
    async visitAsNewPerson(partnerId: string | null, options: BrowserContextOptions = {}) {
      const visitor = await visit(options);
      const link = await inviteAsOperator(world, "admin", partnerId);
      await addCookie(visitor.context, await acceptInvitation(world.url, link, "Ada Lovelace"));
      return visitor;
    },
    /** Somebody whose session cookie a test has: `name=value`. */
    async visitWith(cookie: string, options: BrowserContextOptions = {}) {
      const visitor = await visit(options);
      await addCookie(visitor.context, cookie);
      return visitor;
    },
  };
}

/** Sets a filter of a list: by a choice of it, or by a text that is typed. */
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

/** What a test that has failed saw last. */
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

/**
 * Looks at a page as everybody may see it: in both themes, on a desktop and on a phone. Asks axe, and sees to it that
 * nothing is wider than the window and no list scrolls within the page. With `TEST_SCREENSHOTS=1` it takes a picture of
 * each.
 */
export async function inspect(page: Page, name: string): Promise<void> {
  if (TAKES_SCREENSHOTS) await takeScreenshots(page, name);
  for (const [device, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
    await page.setViewportSize(size);
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      const rules = RULES[`${device} ${theme}`];
      if (rules === undefined) continue;
      expect.soft(await violations(page, rules), `axe on ${name}, ${device}, ${theme}`).toEqual([]);
    }
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

/** The page itself scrolls, up and down: no list within it does. Wide tables scroll sideways on a desktop. */
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

/** WCAG 2.2 AA, and what axe calls best practice. */
const ALL_RULES: axe.RunOnly = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
};
/** A theme changes colours alone, and they are the same on every device. */
const RULES: Readonly<Record<string, axe.RunOnly>> = {
  "desktop light": ALL_RULES,
  "desktop dark": { type: "rule", values: ["color-contrast"] },
  "phone light": ALL_RULES,
};

/** What axe has against a page. */
async function violations(page: Page, runOnly: axe.RunOnly): Promise<readonly string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(`${axe.source}; undefined`);
  return page.evaluate(async (rules) => {
    const { violations: found } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
      runOnly: rules,
      // To describe every element that passes takes longer than to find those that do not.
      resultTypes: ["violations"],
    });
    return found.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} at ${target.join(" ")}: ${failureSummary}`),
    );
  }, runOnly);
}
