// node tools/count-results.mjs <exit status of the run> <directory of vitest's JSON reports> <directory of turbo's run summaries>
// Prints each failed test with what it said and each failed check, then "N passed, N failed" as the last line; exits 1 when anything failed.
// Plain JavaScript of any Node: it must count even where the installation of the pinned one failed.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Maximum lines of a failure's message. Too high: one failure buries the others. */
const MAX_REASON_LINES = 12;

const [status, reportsDirectory, summariesDirectory] = process.argv.slice(2);
let passed = 0;
const failures = [];

try {
  const failedTests = countTests(readJsonFiles(reportsDirectory));
  countTasks(readJsonFiles(summariesDirectory), failedTests);
} catch (error) {
  failures.push(`the results could not be read: ${error instanceof Error ? error.message : String(error)}`);
}
// Whatever the reports say, a run that failed or proved nothing has failed.
if (status !== "0" && failures.length === 0) failures.push(`the run ended with status ${status}`);
if (passed === 0 && failures.length === 0) failures.push("nothing was run");

console.log();
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;

/** Counts single tests; returns the names of the reports that hold a failed one. */
function countTests(reports) {
  const failed = new Set();
  for (const { name, content } of reports) {
    for (const file of content.testResults) {
      const broken = file.assertionResults.filter((test) => test.status === "failed");
      passed += file.assertionResults.filter((test) => test.status === "passed").length;
      for (const test of broken) failures.push(`${name}: ${test.fullName}${reasonOf(test)}`);
      // A file that could not be loaded, or whose hooks failed, has no failed test of its own.
      if (file.status === "failed" && broken.length === 0) failures.push(`${name}: ${file.name}`);
      if (file.status === "failed") failed.add(name);
    }
  }
  return failed;
}

/** What the assertion said, without its stack: the end of a long output is often all that is kept of it. */
function reasonOf({ failureMessages }) {
  const lines = (failureMessages?.[0] ?? "").split("\n");
  const stack = lines.findIndex((line) => /^ +at /.test(line));
  const said = lines.slice(0, stack === -1 ? undefined : stack).slice(0, MAX_REASON_LINES);
  return said.map((line) => `\n    ${line}`).join("");
}

/** Counts each task once; a package's tests are counted one by one from their report instead, and without one they failed. */
function countTasks(summaries, failedTests) {
  for (const { content } of summaries) {
    for (const task of content.tasks) {
      // A package without the script has a task that runs nothing.
      if (task.command === "<NONEXISTENT>" || task.execution === undefined) continue;
      const shortName = task.package.replace(/^@[^/]*\//, "");
      const isTests = task.task === "test";
      if (task.execution.exitCode !== 0) {
        if (!isTests || !failedTests.has(shortName)) failures.push(task.taskId);
      } else if (!isTests) {
        passed += 1;
      } else if (!hasReport(shortName)) {
        failures.push(`${task.taskId}: no report of its tests`);
      }
    }
  }
}

function hasReport(name) {
  return listJsonFiles(reportsDirectory).includes(`${name}.json`);
}

function readJsonFiles(directory) {
  return listJsonFiles(directory).flatMap((file) => {
    try {
      const content = JSON.parse(readFileSync(join(directory, file), "utf8"));
      return [{ name: file.replace(/[.]json$/, ""), content }];
    } catch (error) {
      // Cut off, as by a full disk: the others count all the same.
      failures.push(`${file} cannot be read: ${error.message}`);
      return [];
    }
  });
}

/** The directory is absent when the run ended before it wrote any. */
function listJsonFiles(directory) {
  try {
    return readdirSync(directory).filter((file) => file.endsWith(".json"));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}
