import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { Dialog } from "../components/dialog.tsx";
import { rowLink } from "../components/table.tsx";
import { listedPages, pageAddress } from "../membership-pages.ts";
import type { Page } from "../page.ts";
import { useCurrentMembership, useSignedIn } from "../session/session.ts";

/** Milliseconds after the key `g` within which its letter must follow. */
const LETTER_MS = 1_500;

/**
 * Handles the keyboard shortcuts of all pages, and shows the dialog that lists them. The shortcut of the search is handled by
 * palette-button.tsx, so that it works before this module is loaded.
 */
export function Shortcuts() {
  const [isShown, setShown] = useState(false);
  const pages = useLetters();
  const [, navigate] = useLocation();
  // After the key `g`: the time until which a letter opens a page, by the clock of `Event.timeStamp`.
  const goesUntil = useRef(0);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const isGoing = event.timeStamp < goesUntil.current;
      goesUntil.current = 0;
      const page = isGoing ? pages.find(({ letter }) => letter === event.key) : undefined;
      if (page !== undefined) navigate(page.address);
      else if (event.key === "g") goesUntil.current = event.timeStamp + LETTER_MS;
      else if (event.key === "?") setShown(true);
      // The browser handles a key that has nothing to act on.
      else if (!(actOnList(event.key) || followLink(event.key))) return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [pages, navigate]);
  return (
    <Dialog title="Keyboard" isOpen={isShown} onClose={() => setShown(false)}>
      <dl class="shortcuts">
        {[...keys, ...pages.map(({ title, letter }) => [title, `g ${letter}`] as const)].map(([what, key]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              {key.split(" ").map((one) => (
                <>
                  <kbd>{one}</kbd>{" "}
                </>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** The shortcuts of every page, as the dialog lists them. */
const keys = [
  ["Search", "Ctrl K"],
  ["Next row", "j"],
  ["Row before", "k"],
  ["Open the row", "Enter"],
  ["Close beside a list", "Escape"],
  ["Filter", "/"],
  ["These keys", "?"],
] as const;

interface LetteredPage {
  readonly title: string;
  readonly letter: string;
  readonly address: string;
}

/** Returns the pages that the reader opens with `g` and a letter. */
function useLetters(): readonly LetteredPage[] {
  const { memberships } = useSignedIn();
  const current = useCurrentMembership();
  if (current === undefined) return [];
  const lettered = (page: Page): readonly LetteredPage[] =>
    page.letter === undefined
      ? []
      : [{ title: page.title, letter: page.letter, address: pageAddress(page, current, memberships) }];
  return listedPages(current).flatMap(lettered);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, select, textarea, dialog, [popover]") !== null;
}

/** Handles the keys of lists. Returns whether the key had something to act on. */
function actOnList(key: string): boolean {
  switch (key) {
    case "/":
      return focusFilter();
    case "j":
      return moveRow(1);
    case "k":
      return moveRow(-1);
    case "Escape":
      return closeItem();
    default:
      return false;
  }
}

/** Follows the link whose shortcut is this key. Returns whether the page has one. */
function followLink(key: string): boolean {
  const links = [...document.querySelectorAll<HTMLElement>("main a[aria-keyshortcuts]")];
  const link = links.find((each) => each.getAttribute("aria-keyshortcuts") === key);
  link?.click();
  return link !== undefined;
}

/**
 * Moves the focus to the search box of the list. In a list without one, presses the button that adds a filter. Returns
 * whether the page has either.
 */
export function focusFilter(): boolean {
  const searchBox = document.querySelector<HTMLElement>("main search input");
  const addButton = document.querySelector<HTMLElement>("main search .chip-add button");
  if (searchBox !== null) searchBox.focus();
  else addButton?.click();
  return searchBox !== null || addButton !== null;
}

/**
 * Moves the focus to the link of the next or previous row. If the page of a row is open beside the list, opens the page of
 * that next or previous row. Returns whether the page has rows with links.
 */
function moveRow(step: 1 | -1): boolean {
  const isSplit = document.querySelector(".split-list") !== null;
  const rows = [...document.querySelectorAll(isSplit ? ".split-list tbody tr" : "main tbody tr")];
  const links = rows.map(rowLink).filter((link) => link !== null);
  // The row with the focus, or the row whose page is open. Without either, the first row is next.
  const at = links.findIndex((link) => link.closest("tr")?.matches(":focus-within, [aria-current=true]"));
  const link = links[at === -1 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))];
  link?.focus();
  link?.scrollIntoView({ block: "nearest" });
  if (isSplit) link?.click();
  return link !== undefined;
}

/**
 * Closes the page of a row beside its list. Returns whether one was open. While a menu is open, does nothing: the
 * browser closes the menu on this key.
 */
function closeItem(): boolean {
  if (document.querySelector("[popover=auto]:popover-open") !== null) return false;
  const close = document.querySelector<HTMLElement>(".split-close");
  close?.click();
  return close !== null;
}
