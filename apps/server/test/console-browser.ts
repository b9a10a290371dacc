import { account, consoleSession } from "@bikeshare/contract/console";
import { expect } from "vitest";

/** A browser that keeps cookies, changes things as the pages do, and goes to the identity provider and back. */
export class ConsoleBrowser {
  readonly #cookies = new Map<string, string>();
  readonly #url: string;

  /** @param url of the service */
  constructor(url: string) {
    this.#url = url;
  }

  /** What it keeps, each as `name=value`. */
  get cookies(): string[] {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`);
  }

  adopt(cookies: readonly string[]): this {
    for (const cookie of cookies) {
      const [name = "", value = ""] = cookie.split("=", 2);
      this.#cookies.set(name, value);
    }
    return this;
  }

  async call(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(this.#url + path, {
      method,
      redirect: "manual",
      headers: {
        cookie: this.cookies.join("; "),
        ...(method !== "GET" && { origin: this.#url }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...more,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    for (const header of response.headers.getSetCookie()) {
      const [cookie = ""] = header.split(";");
      if (header.includes("Max-Age=0")) this.#cookies.delete(cookie.split("=", 1)[0] ?? "");
      else this.adopt([cookie]);
    }
    return response;
  }

  /** Changes something, as a page does. */
  async change(method: string, path: string, body: unknown = {}): Promise<Response> {
    const { csrf_token } = await this.session();
    return this.call(method, path, method === "DELETE" ? undefined : body, { "x-csrf-token": csrf_token });
  }

  async session() {
    return consoleSession.parse(await (await this.call("GET", "/console/v1/session")).json());
  }

  async isSignedIn(): Promise<boolean> {
    return (await this.call("GET", "/console/v1/session")).status === 200;
  }

  async account() {
    return account.parse(await (await this.call("GET", "/console/v1/account")).json());
  }

  /** Where a request that begins sends the browser. */
  async begin(body: object = {}): Promise<string> {
    return urlOf(await this.call("POST", "/console/v1/sign-in/oidc", body));
  }

  /** The page to which the provider's answer leads. */
  async comeBack(callback: string): Promise<string> {
    const { pathname, search } = new URL(callback);
    const response = await this.call("GET", pathname + search, undefined, { "sec-fetch-site": "cross-site" });
    expect(response.status).toBe(303);
    return (response.headers.get("location") ?? "").replace("http://localhost/dashboard", "");
  }

  /** Begins, signs in at the provider, and comes back. @returns the page on which the browser ends */
  async goThrough(body: object = {}): Promise<string> {
    return this.comeBack(await atProvider(await this.begin(body)));
  }
}

/** The address in an answer that sends the browser to the provider. */
export async function urlOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  return ((await response.json()) as { url: string }).url;
}

/** What the provider answers to a browser. */
export async function atProvider(url: string): Promise<string> {
  const response = await fetch(url, { redirect: "manual" });
  return response.headers.get("location") ?? "";
}
