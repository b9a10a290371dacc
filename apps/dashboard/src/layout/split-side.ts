import { createContext } from "preact";

/**
 * The side of a `SplitPage` on which a component is: in the list, or on the page of one row. Undefined: it is in no
 * `SplitPage`.
 */
export const SplitSide = createContext<"list" | "item" | undefined>(undefined);
