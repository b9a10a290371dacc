import { idOrderedList } from "../lists/by-id.ts";

/** The statements that read bikes. */
export const bikeList = idOrderedList("bikes");
