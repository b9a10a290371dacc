import { judgeAddress, portOf } from "../../addresses/address-guard.ts";

/** Where the feeds of one source may lead. */
export interface FeedAddressRules {
  /** Why a URL must not be fetched, as far as that can be told without asking DNS; undefined where it may. */
  readonly refuseUrl: (url: URL) => string | undefined;
  /** Why an address that a URL leads to must not be called; undefined where it may. */
  readonly refuse: (address: string, url: URL) => string | undefined;
  /** Hears which address a URL led to. */
  readonly reached: (url: URL, address: string | null) => void;
}

/**
 * Feeds come from public addresses. The configured host may be private, because the operator has named it: that host
 * and port, nothing beside it. One that was public stays so: its name is the publisher's, who could point it at us.
 *
 * @param location the configured address of gbfs.json
 */
export function feedAddressRules(location: URL): FeedAddressRules {
  let wasPublic = false;
  const isConfigured = (url: URL) => url.hostname === location.hostname && portOf(url) === portOf(location);
  return {
    refuseUrl(url) {
      if (url.username === "" && url.password === "") return undefined;
      return `${withoutUserinfo(url)} holds a user or password before @; feeds are fetched without`;
    },
    refuse(address, url) {
      const verdict = judgeAddress(address, []);
      if (verdict.ok || (isConfigured(url) && !wasPublic)) return undefined;
      return `${url.hostname}: ${verdict.message} A feed may lead to public addresses and to the configured host alone`;
    },
    reached(url, address) {
      if (address !== null && isConfigured(url) && judgeAddress(address, []).ok) wasPublic = true;
    },
  };
}

function withoutUserinfo(url: URL): string {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare.href;
}
