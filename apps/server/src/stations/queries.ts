import { idOrderedList } from "../lists/by-id.ts";

/** The statements that read stations. */
export const stationList = idOrderedList("stations");
