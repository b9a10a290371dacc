/** How the operator calls itself, and what it looks like. */
import type { SignInOptions } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { api } from "../api/api.ts";

/** Until the operator's own is known. */
const UNBRANDED: SignInOptions["branding"] = { name: "Bike sharing", logo_url: null, color: null };

/** The ways of signing in, and the operator's branding: neither changes while the pages are open. */
export function useSignInOptions() {
  return useQuery({ queryKey: ["sign-in-options"], queryFn: () => api.signIn.options(), staleTime: Infinity });
}

export function useBranding(): SignInOptions["branding"] {
  return useSignInOptions().data?.branding ?? UNBRANDED;
}
