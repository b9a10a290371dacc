import { randomBytes, randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { writeDurably } from "./durable-file.ts";
import { EmbeddedPostgresError } from "./errors.ts";

/** Where our PostgreSQL listens and the passwords of its two roles. Kept in a file only its owner may read. */
const connection = z.object({
  port: z.number().int().min(1024).max(65535),
  password: z.string().min(32),
  superuserPassword: z.string().min(32),
});
export type Connection = z.infer<typeof connection>;

/** The service's role and its database. */
export const DATABASE = "bikeshare";
/** The role initdb makes; the service never uses it, so that an injected statement cannot read files or run programs. */
export const SUPERUSER = "postgres";

const fileOf = (home: string) => join(home, "connection.json");

export async function readConnection(home: string): Promise<Connection> {
  const file = fileOf(home);
  try {
    return connection.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `${file} cannot be read, and without it nobody can log in to the database beside it. ` +
        "Restore it from a backup, or start as the account that owns it.",
      { cause },
    );
  }
}

export async function writeConnection(home: string, value: Connection): Promise<void> {
  await writeDurably(fileOf(home), `${JSON.stringify(value, undefined, 2)}\n`, 0o600);
}

/** A connection of a new cluster: secrets from the system's generator, never from a seed. */
export async function newConnection(): Promise<Connection> {
  const secret = () => randomBytes(32).toString("base64url");
  return { port: await findFreePort(), password: secret(), superuserPassword: secret() };
}

/** A random port of 127.0.0.1 that nobody listens on. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    // Below the range systems draw outgoing connections' ports from (32768 up): in it, any connection made
    // while PostgreSQL is down could take the port, and a restart on the same one would fail.
    const port = randomInt(20_000, 32_768);
    if (await isFree(port)) return port;
  }
  throw new EmbeddedPostgresError(
    "No free port was found on 127.0.0.1. Check that this machine has a loopback interface, or set DATABASE_URL.",
  );
}

/** Whether nobody listens on this port of 127.0.0.1. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  });
}

/** The URL of the service's own database. */
export function connectionStringOf({ port, password }: Connection): string {
  return `postgresql://${DATABASE}:${password}@127.0.0.1:${port}/${DATABASE}`;
}
