import { describe, expect, test } from "vitest";
import { failureMail, type FailureNotice } from "./failure-mail.ts";

const SINCE = Date.parse("2026-06-01T12:00:30.000Z");
const HOUR = 3_600_000;

function mail(fields: Partial<FailureNotice> = {}) {
  return failureMail({
    about: 25,
    url: "https://hooks.partner.example/in/t0ken?key=s3cret",
    partnerId: "partner_1",
    endpointId: "endpoint_1",
    name: "Staging",
    failingSince: SINCE,
    failures: 11,
    lastError: "answered 500",
    at: SINCE + 18 * HOUR,
    dashboardUrl: null,
    ...fields,
  });
}
const PAUSES = ["failing", "gone", "probe_failed"] as const;

test("a warning says what fails since when, with what, when the pause comes and what to do", () => {
  expect(mail()).toMatchInlineSnapshot(`
    {
      "subject": "Webhooks to hooks.partner.example are failing",
      "text": "No webhook to hooks.partner.example has succeeded since 2026-06-01 12:00 UTC (for 18 h).
    Failed attempts since then: 11. The last one, at 2026-06-02 06:00 UTC: answered 500.

    What happens next: each webhook is tried 14 times in about 73 hours. When nothing has succeeded for 72 h, which is at 2026-06-04 12:00 UTC, the endpoint is paused, if at least 20 attempts for 3 different events have failed by then. A single success ends all this, and so does a day without attempts.

    What to do: see to it that the endpoint answers every webhook with a status from 200 to 299 within 15 seconds. The log of attempts shows what was sent and what came back.

    Endpoint: “Staging”, https://hooks.partner.example/…
    Ask whoever runs the service for the log of attempts.
    ",
    }
  `);
});

test("the warning half way says how long it has been", () => {
  const { text } = mail({ about: 50, at: SINCE + 40 * HOUR });
  expect(text).toContain("(for 40 h)");
  expect(text).toContain("at 2026-06-04 12:00 UTC");
});

test("the mail of a pause says that nothing is lost, and how to resume and replay", () => {
  expect(mail({ about: "failing", at: SINCE + 72 * HOUR })).toMatchInlineSnapshot(`
    {
      "subject": "Webhooks to hooks.partner.example are paused",
      "text": "No webhook to hooks.partner.example has succeeded since 2026-06-01 12:00 UTC (for 72 h).
    Failed attempts since then: 11. The last one, at 2026-06-04 12:00 UTC: answered 500.
    The endpoint is paused now: it is sent nothing any more.

    Nothing is lost: its events are kept for 30 days and can be sent when it is well.

    What to do: see to it that the endpoint answers every webhook with a status from 200 to 299 within 15 seconds. The log of attempts shows what was sent and what came back.

    How to go on, when it is well:
    1. Resume it. One webhook is sent to try; when that succeeds, new events follow.
    2. Replay what failed or was held since 2026-05-31 12:00 UTC.
    Whoever runs the service does the same with:
      bikeshare webhooks resume --partner partner_1 --endpoint endpoint_1
      bikeshare webhooks replay --partner partner_1 --endpoint endpoint_1 --status failed,held --since 2026-05-31T12:00:30.000Z

    Endpoint: “Staging”, https://hooks.partner.example/…
    Ask whoever runs the service for the log of attempts.
    ",
    }
  `);
});

test("an address that is gone is told so", () => {
  const { subject, text } = mail({ about: "gone" });
  expect(subject).toBe("Webhooks to hooks.partner.example are paused");
  expect(text).toContain(
    "hooks.partner.example answered 410 Gone to every webhook for more than a minute, last at 2026-06-02 06:00 UTC",
  );
  expect(text).toContain("If that was a mistake, such as a wrong deployment, resume it as below.");
  expect(text).toContain("bikeshare webhooks resume --partner partner_1 --endpoint endpoint_1");
  expect(text).toContain("If you want no webhooks any more, there is nothing to do.");
});

test("a probe that failed is told with its error", () => {
  const { subject, text } = mail({ about: "probe_failed", lastError: "no whole answer (tls)" });
  expect(subject).toBe("Webhooks to hooks.partner.example are paused");
  expect(text).toContain("failed at 2026-06-02 06:00 UTC: no whole answer (tls).");
});

describe.each([25, 50, ...PAUSES] as const)("whatever it is about (%s)", (about) => {
  test("a mail links to the dashboard where there is one", () => {
    const dashboardUrl = "https://bikes.example/dashboard/webhooks";
    expect(mail({ about, dashboardUrl }).text).toMatch(/\nhttps:\/\/bikes\.example\/dashboard\/webhooks\n$/);
    expect(mail({ about }).text).not.toContain("bikes.example/dashboard");
  });

  test("a mail shows of the URL nothing that may be secret", () => {
    const { subject, text } = mail({ about });
    expect(subject + text).not.toMatch(/t0ken|s3cret/);
    expect(text).toContain("https://hooks.partner.example/…");
  });

  test("a receiver's words stay one short line", () => {
    const { subject, text } = mail({ about, lastError: `answered\r\n\r\n${"x".repeat(10_000)}\u0007` });
    expect(subject).not.toMatch(/[\r\n]/);
    expect(text.length).toBeLessThan(2_500);
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test("a mail can be written where it is not known since when it fails", () => {
    expect(mail({ about, failingSince: null }).text).not.toMatch(/1970|NaN|Invalid/);
  });
});

test("the commands of a pause replay from a day before the first failure on, for what had waited by then", () => {
  for (const about of ["failing", "gone"] as const) {
    expect(mail({ about }).text).toContain(
      "\n  bikeshare webhooks replay --partner partner_1 --endpoint endpoint_1 --status failed,held --since 2026-05-31T12:00:30.000Z\n",
    );
  }
});

test("the commands after a failed probe replay all that is kept, for the first failure lies before the last pause", () => {
  expect(mail({ about: "probe_failed", at: Date.parse("2026-06-30T00:00:00.000Z") }).text).toContain(
    "--since 2026-05-31T00:00:00.000Z\n",
  );
});
