/* Runs SQL that documents tell operators to run by hand, unchanged in the PostgreSQL of compose.yaml. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "./engine.ts";

/** Runs SQL statements. @param role `postgres`, or the service's role */
function psql(engine: Engine, role: "bikeshare" | "postgres", statements: string): Promise<string> {
  const options = "--no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1";
  const program = `docker exec --interactive bikeshare-postgres-1 psql ${options} --username=${role} bikeshare`;
  return engine.run(`${program} <<'END'\n${statements}\nEND`);
}

/** Returns the first block of SQL below a heading of a page. */
function sqlOf(clone: string, page: string, heading: string): string {
  const markdown = readFileSync(join(clone, "docs", page), "utf8");
  const [, section = ""] = markdown.split(`\n## ${heading}\n`);
  const [, statements] = /^```sql\n([^]*?)^```$/m.exec(section.split("\n## ")[0] ?? "") ?? [];
  assert.ok(statements !== undefined, `docs/${page} has no SQL below ${heading}`);
  return statements;
}

/** Runs the runbook's SQL that lists the statements which run longest. It fails if a statement is wrong. */
export async function longestStatementsAreListed(engine: Engine, clone: string): Promise<void> {
  await psql(engine, "bikeshare", sqlOf(clone, "runbook.md", "FiguresMissing"));
}

/**
 * Checks the SQL that takes the audit log from the service's role. Before it, the role could delete entries: an owner can
 * grant itself any right again.
 * @param act something that adds an entry
 */
export async function auditLogIsGivenAway(engine: Engine, clone: string, act: () => Promise<unknown>): Promise<void> {
  const countEntries = async () => Number(await psql(engine, "bikeshare", "select count(*) from audit_log"));
  const erase = "grant delete on audit_log to bikeshare; delete from audit_log;";
  await psql(engine, "bikeshare", `begin; ${erase} rollback;`);
  await psql(engine, "postgres", sqlOf(clone, "commands.md", "Audit log"));
  await assert.rejects(psql(engine, "bikeshare", erase), /permission denied for table audit_log/);
  const before = await countEntries();
  await act();
  assert.ok((await countEntries()) > before);
}
