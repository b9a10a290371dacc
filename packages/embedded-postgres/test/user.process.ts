import { openEmbeddedPostgres } from "../src/embedded-postgres.ts";

// A program for tests that opens the embedded PostgreSQL. It prints each event as a line, and closes PostgreSQL when it
// gets a line on its standard input or its standard input ends.
const [dataDir = "", systemDirectory = "", survivorSeconds = "60"] = process.argv.slice(2);
const say = (word: string, value: string) => process.stdout.write(`${word} ${value}\n`);

const database = await openEmbeddedPostgres({
  dataDir,
  systemDirectory,
  log: (event) => say("event", event.event),
  survivorSeconds: Number(survivorSeconds),
});
say("ready", database.connectionString);

let isClosing = false;
const close = () => {
  if (isClosing) return;
  isClosing = true;
  database.close().then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
};
process.stdin.once("data", close);
process.stdin.once("end", close);
