import { afterAll, beforeAll, expect, it } from "vitest";
import { migrate } from "../src/storage/db/migrate/migrate.ts";
import { readProgram } from "../src/storage/db/migrate/program.ts";
import { createEmptyDatabase, type TestDatabase } from "./database.ts";

let database: Omit<TestDatabase, "systemId">;

beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.close());

const run = (text: string) => database.db.transaction((tx) => tx.run(text));

it("takes over from a database of version 0.1.0 what is certain of accounts, and ends the sessions of all others", async () => {
  const program = await readProgram();
  const released = program.migrations.filter(({ name }) => name < "0008");
  await migrate(database.db, { program: { ...program, version: "0.1.0", migrations: released } });
  await run(`
    insert into systems (system_id, name, created_at) values ('main', 'Main', '2026-01-01');
    insert into partners (system_id, id, name, created_at) values ('main', 'p', 'P', '2026-01-01');
    insert into people (id, email, name, created_at)
      select name, name || '@example.com', name, '2026-02-01'
      from unnest(array['began_as_operator', 'began_as_partner', 'has_identity', 'operator_then_partner']) as name;
    insert into identities (issuer, subject, person_id, email, created_at, last_used_at)
      values ('i', 's', 'has_identity', 'has_identity@example.com', '2026-02-01', '2026-02-01');
    insert into invitations (system_id, id, hash, email, partner_id, role, created_at, created_by, expires_at, accepted_at)
      select 'main', email || coalesce(partner_id, ''), sha256('x'), email || '@example.com', partner_id, 'admin',
        '2026-02-01', 'cli:root', '2026-02-08', accepted_at::timestamptz
      from (values ('began_as_operator', null, '2026-02-01'), ('began_as_partner', 'p', '2026-02-01'),
        ('began_as_partner', null, '2026-02-02'), ('operator_then_partner', null, '2026-02-01'),
        ('operator_then_partner', 'p', '2026-02-03')) as v (email, partner_id, accepted_at);
    insert into sessions (id, person_id, hash, created_at, last_used_at, expires_at, confirmed_at, address, user_agent)
      select id, id, sha256(id::bytea), '2026-02-01', '2026-02-01', '2026-02-08', '2026-02-01', '', '' from people;`);
  await migrate(database.db, { program });
  const text = `select p.id, p.proof, p.proof_system_id, s.id is not null as has_session
    from people p left join sessions s on s.person_id = p.id order by p.id`;
  expect(await database.db.query({ name: "test.proofs", text })).toEqual([
    { id: "began_as_operator", proof: "operator", proof_system_id: "main", has_session: true },
    { id: "began_as_partner", proof: null, proof_system_id: null, has_session: false },
    { id: "has_identity", proof: "identity", proof_system_id: null, has_session: true },
    { id: "operator_then_partner", proof: null, proof_system_id: null, has_session: false },
  ]);
});
