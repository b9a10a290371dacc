import { account, consoleSession } from "@bikeshare/contract/console";
import { expect } from "vitest";

/**
 * A simulated browser. It keeps cookies, sends requests as the dashboard does, and follows the way to the identity provider
 * and back.
 */
export class ConsoleBrowser {
  readonly #cookies = new Map<string, string>();
  readonly #url: string;

  /** @param url the address of the service */
  constructor(url: string) {
    this.#url = url;
  }

  /** The cookies, each as `name=value`. */
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

  /** Sends a request that changes something, with the CSRF token, as a page does. */
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

  /** Begins a sign-in at the provider. @returns the address at the provider */
  async begin(body: object = {}): Promise<string> {
    return urlOf(await this.call("POST", "/console/v1/sign-in/oidc", body));
  }

  /** Opens the callback address. @returns the page to which the service redirects */
  async comeBack(callback: string): Promise<string> {
    const { pathname, search } = new URL(callback);
    const response = await this.call("GET", pathname + search, undefined, { "sec-fetch-site": "cross-site" });
    expect(response.status).toBe(303);
    return (response.headers.get("location") ?? "").replace("http://localhost/dashboard", "");
  }

  /** Signs in at the provider, from the beginning to the redirect back. @returns the page on which the browser ends */
  async goThrough(body: object = {}): Promise<string> {
    return this.comeBack(await atProvider(await this.begin(body)));
  }
}

/** Returns the address at the provider from a response that begins a sign-in. */
export async function urlOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  return ((await response.json()) as { url: string }).url;
}

/** Opens an address at the provider. @returns the address to which the provider redirects */
export async function atProvider(url: string): Promise<string> {
  const response = await fetch(url, { redirect: "manual" });
  return response.headers.get("location") ?? "";
}
