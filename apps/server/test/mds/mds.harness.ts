import { MDS_MEDIA_TYPE } from "@bikeshare/contract/mds";
import { createAgency, type NewAgency } from "../../src/feeds/mds/agencies.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { buildAnother, keyContext } from "../built-app.ts";

/** A service with MDS for agencies, and one without it on the same database. */
export interface MdsHarness {
  /** The service without MDS. */
  readonly app: TestApp;
  readonly url: string;
  /** Creates an agency. */
  agency(input?: Partial<NewAgency>): ReturnType<typeof createAgency>;
  /** Sends a GET with the key of an agency. */
  get(path: string, key: string, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export async function startMds(): Promise<MdsHarness> {
  const app = await startTestApp();
  const served = await buildAnother(app, { mds: true });
  let agencies = 0;
  return {
    app,
    url: served.url,
    agency: (input) =>
      createAgency(keyContext(app), app.systemId, {
        ...{ name: `City ${++agencies}`, rateLimit: 1_000_000 },
        ...input,
      }),
    get: (path, key, headers = {}) =>
      fetch(served.url + path, { headers: { accept: MDS_MEDIA_TYPE, authorization: `Bearer ${key}`, ...headers } }),
    close: async () => {
      await served.close();
      await app.close();
    },
  };
}
