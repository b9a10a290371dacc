import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import {
  type DispatchHarness,
  type HarnessEndpoint,
  openDispatchHarness,
} from "../../../test/webhooks/dispatcher.harness.ts";
import { answered } from "../../../test/webhooks/far.ts";
import type { CompletedAttempt } from "../dispatcher/result-writer.ts";
import { pauseEndpoint } from "../endpoints/endpoint-settings.ts";
import { createMailLimiter, logFailures, type NoticeContext, recordFailureMails } from "./failure-mail.ts";

const HOUR = 3_600_000;

let harness: DispatchHarness;
let endpoint: HarnessEndpoint;
const logged: [message: string, detail: object][] = [];
const completed: CompletedAttempt[] = [];

beforeEach(async () => {
  harness = await openDispatchHarness();
  endpoint = await harness.endpoint();
  logged.length = completed.length = 0;
});
afterEach(() => harness.close());

const context = (changes: Partial<NoticeContext> = {}): NoticeContext => ({
  ids: harness.ids,
  mayMail: createMailLimiter(harness.clock),
  canMail: true,
  logger: { warn: (detail, message) => void logged.push([message, detail]) },
  publicUrl: undefined,
  ...changes,
});

/** Starts a worker that reports failures as the service does. */
function worker(changes: Partial<NoticeContext> = {}) {
  const notices = context(changes);
  return harness.worker({
    recordFailures: (tx, systemId, attempts, now) => recordFailureMails(notices, tx, systemId, attempts, now),
    observe: {
      claimed: () => undefined,
      attemptStarted: () => undefined,
      orphansWritten: () => undefined,
      setAside: () => undefined,
      resultsWritten: (attempts) => {
        completed.push(...attempts);
        logFailures(notices, attempts, new Date(harness.clock()));
      },
    },
  });
}

const address = (email: string) =>
  harness.rows("update webhook_endpoints set email = $3 where system_id = $1 and id = $2", endpoint.id, email);
const mails = () =>
  harness.rows<{ endpoint_id: string; subject: string; body: string }>(
    "select endpoint_id, subject, body from webhook_mails where system_id = $1 order by created_at, id",
  );
/** Lets one attempt fail, and waits until its result is written. */
async function fail(attempts: number): Promise<void> {
  harness.wake();
  await until(() => completed.length === attempts);
}

describe("where the partner has an address and there is a mail server", () => {
  test("an endpoint that fails for 18 h has a mail noted, with its own figures, and one for each warning", async () => {
    await address("ops@partner.example");
    harness.far.respond = () => answered(500);
    await harness.happen();
    worker({ publicUrl: "https://bikes.example" });
    await fail(1);
    expect(await mails()).toEqual([]);
    harness.clock.advance(18 * HOUR);
    await fail(2);
    const [mail, ...more] = await mails();
    expect(more).toEqual([]);
    expect(mail?.endpoint_id).toBe(endpoint.id);
    expect(mail?.subject).toBe("Webhooks to 127.0.0.1 are failing");
    expect(mail?.body).toContain("Failed attempts since then: 2.");
    expect(mail?.body).toContain("(for 18 h)");
    expect(mail?.body).toContain(
      `\nhttps://bikes.example/dashboard/partners/${endpoint.partnerId}/deliveries?system=${harness.systemId}\n`,
    );
    expect(logged).toEqual([
      [
        "Webhooks to 127.0.0.1 are failing",
        { partner: endpoint.partnerId, endpoint: endpoint.id, about: 25, failures: 2 },
      ],
    ]);
    harness.clock.advance(18 * HOUR);
    await fail(3);
    expect((await mails()).map(({ body }) => /for \d+ h/.exec(body)?.[0])).toEqual(["for 18 h", "for 36 h"]);
  });

  test("six mails an hour are noted of an endpoint: whoever resumes one that fails all the time floods nobody", async () => {
    await address("victim@elsewhere.example");
    harness.far.respond = () => answered(500);
    await harness.happen();
    worker();
    await fail(1);
    harness.clock.advance(18 * HOUR);
    await fail(2);
    const notices = context();
    const record = () => {
      const another = completed.slice(-1).map((attempt) => ({ ...attempt }));
      return harness.db.transaction((tx) =>
        recordFailureMails(notices, tx, harness.systemId, another, new Date(harness.clock())),
      );
    };
    const earlier = (await mails()).length;
    for (let time = 0; time < 20; time++) await record();
    expect((await mails()).length - earlier).toBe(6);
    harness.clock.advance(HOUR);
    await record();
    expect((await mails()).length - earlier).toBe(7);
  });

  test("a mail is noted if and only if the pause is written: a crash cannot come between the two", async () => {
    await address("ops@partner.example");
    harness.far.respond = () => answered(410);
    // As many as mails are permitted in an hour.
    let crashesLeft = 6;
    const notices = context();
    const { errors } = harness.worker({
      recordFailures: async (tx, systemId, attempts, now) => {
        await recordFailureMails(notices, tx, systemId, attempts, now);
        const [seen] = await tx.query<{ n: number }>(
          { name: "", text: "select count(*) as n from webhook_mails where system_id = $1" },
          [systemId],
        );
        if (seen?.n === 1 && crashesLeft-- > 0) throw new Error("the process died before the commit");
      },
    });
    await harness.happen(3);
    await until(async () => (await harness.attempts()).length === 3);
    harness.clock.advance(60_000);
    harness.wake();
    const paused = "select id from webhook_endpoints where system_id = $1 and status = 'paused'";
    await until(async () => {
      const [row] = await harness.rows<{ paused: number; mails: number }>(
        `select (select count(*) from (${paused}) as paused) as paused,
           (select count(*) from webhook_mails where system_id = $1) as mails`,
      );
      expect(row?.mails).toBe(row?.paused);
      return row?.paused === 1;
    });
    expect(errors.map(String)).toContain("Error: the process died before the commit");
    expect((await mails())[0]?.subject).toBe("Webhooks to 127.0.0.1 are paused");
  });

  test("nothing is said of a pause that somebody else came before", async () => {
    await address("ops@partner.example");
    harness.far.respond = async (request) => {
      // The operator pauses the endpoint during the third attempt.
      if (harness.far.received(endpoint.url).length === 3) {
        await pauseEndpoint(harness, { systemId: harness.systemId, partnerId: endpoint.partnerId, reason: "operator" });
      }
      return answered(request.url === endpoint.url ? 410 : 204);
    };
    await harness.happen();
    worker();
    await goneAgain(1, 6_000);
    await goneAgain(2, 60_000);
    await until(() => completed.length === 3);
    expect(await mails()).toEqual([]);
    expect(logged).toEqual([]);
  });
});

/** Waits until `made` attempts are written, then advances the clock so that the next one is due. */
async function goneAgain(made: number, milliseconds: number): Promise<void> {
  await until(() => completed.length === made);
  harness.clock.advance(milliseconds);
  harness.wake();
}

describe.each([
  ["the partner has no address", null, true],
  ["there is no mail server", "ops@partner.example", false],
])("where %s", (_, email, canMail) => {
  test("nothing is noted, and the log has the whole text for the operator", async () => {
    if (email !== null) await address(email);
    harness.far.respond = () => answered(410);
    await harness.happen();
    worker({ canMail });
    await goneAgain(1, 6_000);
    await goneAgain(2, 60_000);
    await until(() => completed.length === 3);
    expect(await mails()).toEqual([]);
    expect(logged).toHaveLength(1);
    expect(logged[0]?.[0]).toBe("Webhooks to 127.0.0.1 are paused");
    expect(logged[0]?.[1]).toMatchObject({
      about: "gone",
      reason: "paused because it answered 410 Gone three times or more, over a minute or longer",
      resume: `bikeshare webhooks resume --partner ${endpoint.partnerId} --endpoint ${endpoint.id}`,
    });
    expect(JSON.stringify(logged)).toContain("410 Gone to every webhook for more than a minute");
  });
});
