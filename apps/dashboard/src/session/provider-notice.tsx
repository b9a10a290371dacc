/** What became of the way to the identity provider, by the word in the page's address. */
import type { SignInNotice } from "@bikeshare/contract/console";
import { useSearch } from "wouter-preact";
import { Notice } from "../components/notice.tsx";
import { useSignInOptions } from "./branding.ts";

const texts: Readonly<Record<SignInNotice, string>> = {
  cancelled: "You have cancelled it.",
  credentials_removed:
    "You are the first to prove that the address of this account is yours. The passkeys, password and sessions that it had are removed. Were they yours? Add them again.",
  email_domain: "Addresses of that domain may not sign in here.",
  email_unverified:
    "The provider has not verified your mail address. Sign in another way, then connect it on the page Account.",
  expired: "This took too long, was done already, or began in another browser or at another address. Begin again.",
  invitation_over: "This invitation has been used, was revoked or has expired. Ask for a new one.",
  not_recent: "The provider does not say that you have just proved who you are. Confirm in another way.",
  other_account: "Your account there, or here, is connected to another one already.",
  other_email: "The invitation is for another address than your account there has.",
  other_person: "You have signed in there as somebody else.",
  provider_refused:
    "The provider's answer could not be used. Try again; whoever runs the service finds the reason in the log.",
  provider_unavailable: "The provider cannot be reached at present. Try again in a minute, or sign in another way.",
  rate_limited: "Too many attempts. Try again in a quarter of an hour.",
  unknown_person: "Nobody here has your address. If you are invited, open the link of the invitation.",
};

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
