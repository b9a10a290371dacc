import { checkStatements, type Statement } from "../src/storage/db/statement.ts";
import { readTableKinds } from "../src/storage/distribution/table-kinds.ts";
import { refusedIn } from "../tools/statement-rules.ts";

/**
 * Runs before each test file. Creating a statement that a distributed database cannot run throws an error. Statements of
 * tests are exempt: they have no name, or one that begins with `test.`.
 */
const kinds = await readTableKinds();
/** Names and texts that were already accepted, because some statements are created for each call. */
const accepted = new Set<string>();
// Some rules exempt statements by their names.
const keyOf = ({ name, text }: Statement) => `${name}\n${text}`;
checkStatements((named) => {
  if (named.name === "" || named.name.startsWith("test.") || accepted.has(keyOf(named))) return;
  const refused = refusedIn(named, kinds);
  if (refused.length > 0) throw new Error(refused.join("\n"));
  accepted.add(keyOf(named));
});
