import { createContext } from "preact";

/** The side of a divided page on which something stands; undefined: the page is not divided. */
export const SplitSide = createContext<"list" | "item" | undefined>(undefined);
