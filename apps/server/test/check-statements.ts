import { checkStatements } from "../src/storage/db/statement.ts";
import { readTableKinds } from "../src/storage/distribution/table-kinds.ts";
import { refusedIn } from "../tools/statement-rules.ts";

/** Before each file: whoever makes a statement that a distributed database does not run fails. Tests' own have no name, or `test.…`. */
const kinds = await readTableKinds();
/** Some statements are made again for each call. */
const accepted = new Set<string>();
checkStatements((named) => {
  if (named.name === "" || named.name.startsWith("test.") || accepted.has(named.text)) return;
  const refused = refusedIn(named, kinds);
  if (refused.length > 0) throw new Error(refused.join("\n"));
  accepted.add(named.text);
});
