import { openEmbeddedPostgres } from "../src/embedded-postgres.ts";

// A process that uses our PostgreSQL, for tests: says line by line what happens, closes when its input says so or ends.
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
