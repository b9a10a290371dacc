/** Descriptions of a system, its vehicle types and its regions by its sources, for the nouns that publish them. */
export { listDescriptions, type SourceDescription } from "./queries.ts";
