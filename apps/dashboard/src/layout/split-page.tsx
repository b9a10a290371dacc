import { useLayoutEffect, useRef } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { Icon } from "../components/icon.tsx";
import type { Page } from "../page.ts";
import { PageContent } from "./page-content.tsx";
import { SplitSide } from "./split-side.ts";
import { useUrlState } from "./url-state.ts";

interface SplitPageProps {
  readonly list: Page;
  /** The page of one row; undefined: only the list is shown. */
  readonly item: Page | undefined;
}

/**
 * A list, and on a wide window the page of one of its rows beside it. The list keeps its state while rows are opened. The
 * address names the open row.
 */
export function SplitPage({ list, item }: SplitPageProps) {
  const side = useRef<HTMLDivElement>(null);
  const [path] = useLocation();
  useInSight(side, item !== undefined, path);
  return (
    <div class={item === undefined ? undefined : "split"}>
      <div class={item === undefined ? undefined : "split-list"}>
        <SplitSide.Provider value={item === undefined ? undefined : "list"}>
          <PageContent page={list} isBeside={item !== undefined} />
        </SplitSide.Provider>
      </div>
      {item !== undefined && (
        <div ref={side} class="split-item">
          <SplitSide.Provider value="item">
            <CloseLink />
            <PageContent key={path} page={item} isBeside />
          </SplitSide.Provider>
        </div>
      )}
    </div>
  );
}

/** Closes the page of the row, so that only the list remains. */
function CloseLink() {
  const [path, navigate] = useLocation();
  const { here } = useUrlState();
  return (
    <button
      type="button"
      class="copy split-close"
      aria-label="Close"
      title="Close (Escape)"
      onClick={() => navigate(here(path.slice(0, path.lastIndexOf("/"))))}
    >
      <Icon name="close" />
    </button>
  );
}

/** Pixels between the top of the window and the open page. */
const TOP_PX = 16;

/**
 * Keeps the opened page in sight, although its row may be far down the list. The list and the page have no scroll bars of
 * their own: the document scrolls as a whole. A page that fits into the window sticks to the window's top. A taller one
 * begins at the reader's position and scrolls with the list.
 */
function useInSight(side: { readonly current: HTMLElement | null }, isOpen: boolean, path: string): void {
  useLayoutEffect(() => {
    const box = side.current;
    const frame = box?.parentElement;
    if (!isOpen || box === null || frame === null || frame === undefined) return undefined;
    // How far below the frame's top a tall page begins, so that it is where the reader has scrolled to.
    const begin = Math.max(0, TOP_PX - frame.getBoundingClientRect().top);
    const place = () => {
      const fits = box.offsetHeight <= innerHeight - 2 * TOP_PX;
      // The class makes the page stick to the window's top.
      box.classList.toggle("split-low", fits);
      box.style.marginTop = fits ? "0" : `${begin}px`;
    };
    const observer = new ResizeObserver(place);
    observer.observe(box);
    return () => observer.disconnect();
  }, [isOpen, path]);
}
