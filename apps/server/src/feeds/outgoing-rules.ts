import { judgeAddress, portOf } from "../addresses/address-guard.ts";
import { shownAddress } from "./address.ts";

/** Where an address that the operator names may lead: the lists that are there, and redirects. */
export interface OutgoingRules {
  /** Why a URL must not be fetched, as far as that can be told without asking DNS; undefined where it may. */
  readonly refuseUrl: (url: URL) => string | undefined;
  /** Why an address that a URL leads to must not be called; undefined where it may. */
  readonly refuse: (address: string, url: URL) => string | undefined;
  /** Hears which address a URL led to. */
  readonly reached: (url: URL, address: string | null) => void;
}

/**
 * Feeds and trips come from public addresses. The configured host may be private, because the operator has named it: that
 * host and port, nothing beside it. One that was public stays so: its name is the publisher's, who could point it at us.
 *
 * @param location what the operator named
 */
export function outgoingRules(location: URL): OutgoingRules {
  let wasPublic = false;
  const isConfigured = (url: URL) => url.hostname === location.hostname && portOf(url) === portOf(location);
  return {
    refuseUrl(url) {
      if (url.username === "" && url.password === "") return undefined;
      return `${shownAddress(url.href)} holds a user or password before @; nothing is fetched with one`;
    },
    refuse(address, url) {
      const verdict = judgeAddress(address);
      if (verdict.ok || (isConfigured(url) && !wasPublic)) return undefined;
      return `${url.hostname}: ${verdict.message} Only public addresses are called, and the host that was configured`;
    },
    reached(url, address) {
      if (address !== null && isConfigured(url) && judgeAddress(address).ok) wasPublic = true;
    },
  };
}
