// node tools/count-results.mjs <exit status of the run> <directory of reports> <directory of summaries>
// The reports are vitest's, as JSON; the summaries are those of turbo's run. Prints each failed test with its message and
// each failed check, then "N passed, N failed" as the last line. Exits with 1 if anything failed. It is plain JavaScript
// for any version of Node.js, because it must work even if the pinned one could not be installed.
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
// A run with a failing exit status, or without any result, counts as failed, whatever the reports say.
if (status !== "0" && failures.length === 0) failures.push(`the run ended with status ${status}`);
if (passed === 0 && failures.length === 0) failures.push("nothing was run");

console.log();
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;

/**
 * Counts single tests. Returns the names of the reports that contain a failed test, or a file that failed as a whole. A
 * report has the short name of its package, such as `server`.
 */
function countTests(reports) {
  const failed = new Set();
  for (const { name, content } of reports) {
    for (const file of content.testResults) {
      const broken = file.assertionResults.filter((test) => test.status === "failed");
      passed += file.assertionResults.filter((test) => test.status === "passed").length;
      for (const test of broken) failures.push(`${name}: ${test.fullName}${reasonOf(test)}`);
      // If a file could not be loaded, or its hooks failed, none of its tests is marked as failed.
      if (file.status === "failed" && broken.length === 0) failures.push(`${name}: ${file.name}`);
      if (file.status === "failed") failed.add(name);
    }
  }
  return failed;
}

/** Returns the message of a failure without the stack, to keep the output short: often only its end is stored. */
function reasonOf({ failureMessages }) {
  const lines = (failureMessages?.[0] ?? "").split("\n");
  const stack = lines.findIndex((line) => /^ +at /.test(line));
  const message = (stack === -1 ? lines : lines.slice(0, stack)).slice(0, MAX_REASON_LINES);
  return message.map((line) => `\n    ${line}`).join("");
}

/**
 * Counts each task once, except tests: they are counted one by one from their report. A test task without a report has
 * failed.
 */
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
      // The file may be incomplete, for example because the disk was full. The other files still count.
      failures.push(`${file} cannot be read: ${error.message}`);
      return [];
    }
  });
}

/** Returns the names of a directory's JSON files; none if the run ended before it created the directory. */
function listJsonFiles(directory) {
  try {
    return readdirSync(directory).filter((file) => file.endsWith(".json"));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}
