/**
 * A notice about a sign-in at the identity provider. The service redirects back with the outcome in the `notice` parameter.
 */
import type { SignInNotice } from "@bikeshare/contract/console";
import { useSearch } from "wouter-preact";
import { Notice } from "../components/notice.tsx";
import { useSignInOptions } from "./branding.ts";

const texts: Readonly<Record<SignInNotice, string>> = {
  cancelled: "You cancelled the sign-in.",
  credentials_removed:
    "You are the first to prove that the address of this account is yours. The passkeys, password and sessions that it had are removed. Were they yours? Add them again.",
  email_domain: "Addresses of that domain may not sign in here.",
  email_unverified:
    "The provider has not verified your mail address. Sign in another way, then connect it on the page Account.",
  expired: "The sign-in expired, was already used, or began in another browser or at another address. Start again.",
  invitation_over: "This invitation has been used, was revoked or has expired. Ask for a new one.",
  not_recent: "The provider did not confirm a recent sign-in. Confirm another way.",
  other_account: "One of the two accounts is already connected to another one.",
  other_email: "The invitation is for another address than that of your account at the provider.",
  other_person: "You signed in at the provider as somebody else.",
  provider_refused: "The provider's answer was invalid. Try again; the reason is in the service's log.",
  provider_unavailable: "The provider cannot be reached. Try again in a minute, or sign in another way.",
  rate_limited: "Too many attempts. Try again in 15 minutes.",
  unknown_person: "No account has your address. If you were invited, open the link in the invitation.",
};

/** Shows the notice about the sign-in that the page's URL names (`?notice=`). Renders nothing without one. */
export function ProviderNotice() {
  const notice = new URLSearchParams(useSearch()).get("notice");
  const provider = useSignInOptions().data?.methods.provider ?? "the identity provider";
  if (notice === null || !Object.hasOwn(texts, notice)) return null;
  const isRemoval = notice === "credentials_removed";
  return (
    <Notice tone={isRemoval ? "warning" : "danger"} title={isRemoval ? "Your account" : `Sign-in with ${provider}`}>
      {texts[notice as SignInNotice]}
    </Notice>
  );
}
