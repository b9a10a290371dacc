/** The operator's name and look. */
import type { SignInOptions } from "@bikeshare/contract/console";
import { useEffect } from "preact/hooks";
import { api } from "../api/api.ts";
import { useQuery } from "../api/queries.ts";
import { accentTokens } from "./accent.ts";

/** The default until the operator's branding is loaded. */
const UNBRANDED: SignInOptions["branding"] = { name: "Bike sharing", logo_url: null, color: null };

/**
 * Returns the ways of signing in, and the operator's branding. They are read once, because they do not change while the
 * pages are open.
 */
export function useSignInOptions() {
  return useQuery({ queryKey: ["sign-in-options"], queryFn: () => api.signIn.options(), staleTime: Infinity });
}

/** Returns the operator's name, logo and colour; a default until they are loaded. */
export function useBranding(): SignInOptions["branding"] {
  return useSignInOptions().data?.branding ?? UNBRANDED;
}

/** Gives all pages the operator's colour. */
export function useAccent(): void {
  const { color } = useBranding();
  useEffect(() => {
    if (color === null) return;
    const { style } = document.documentElement;
    for (const [token, value] of Object.entries(accentTokens(color))) style.setProperty(token, value);
  }, [color]);
}
