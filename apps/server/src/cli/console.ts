import { emailAddress } from "@bikeshare/contract/console";
import { Option } from "@commander-js/extra-typings";
import type { Config } from "../config.ts";
import { invite } from "../console/people/invitations.ts";
import { DEFAULT_SERVICE_NAME, invitationMail } from "../console/people/mails.ts";
import { invitationUrl, normalizedEmail } from "../console/people/people.rules.ts";
import { resetPerson } from "../console/people/reset.ts";
import { createMailer } from "../outbound/mail/mailer.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { option, parsed, UsageError } from "./options.ts";
import { localAddress } from "./serve.ts";
import { addressOfStart } from "./start.ts";

/** Registers `console invite` and `reset`. */
export function registerConsole(program: ParentCommand, cli: OpenCli): void {
  const group = program.command("console").description("manage who signs in to the dashboard");
  registerReset(group, cli);
  group
    .command("invite")
    .description("invite a person by a link that signs in once")
    .addOption(new Option("--partner <id>", "into the team of this partner").conflicts("operator"))
    .option("--operator", "into your own team")
    .addOption(option("--email <address>", "the person's mail address", readEmail).makeOptionMandatory())
    .addOption(
      new Option("--role <role>", "an admin changes settings, a viewer reads")
        .choices(["admin", "viewer"] as const)
        .default("admin" as const),
    )
    .action(({ partner: partnerId = null, operator = false, email, role }) => {
      if (partnerId === null && !operator)
        throw new UsageError("The team is missing: give --partner <id> or --operator.");
      return runOnSystem(cli(), async (context) => {
        // The link proves the address, because the operator hands it to the person.
        const invitation = { systemId: context.systemId, partnerId, email, role, proves: "operator" } as const;
        const { id, token, expires_at } = await invite(context, invitation);
        const { config } = context;
        const baseUrl = config.publicUrl ?? (await addressOfStart(config)) ?? localAddress(config);
        const url = invitationUrl(baseUrl, token);
        const isMailed = await mail(config, { id, email, url, expiresAt: expires_at });
        return {
          object: { id, email, role, url, expires_at, mailed: isMailed },
          notes: isMailed ? [] : ["The link works once. Send it to this person only."],
        };
      });
    });
}

function registerReset(group: ParentCommand, cli: OpenCli): void {
  group
    .command("reset")
    .description("remove a person's passkeys, password and identity providers, and end their sessions")
    .addOption(option("--email <address>", "the person's mail address", readEmail).makeOptionMandatory())
    .action(({ email }) =>
      runOnSystem(cli(), async (context) => {
        const { id, passkeys, hadPassword, identities } = await resetPerson(context, context.systemId, email);
        return {
          object: { id, passkeys, had_password: hadPassword, identities },
          notes: ["`console invite` with the same address lets the person sign in again."],
        };
      }),
    );
}

/** Mails an invitation if a mail server is configured. @returns whether it did */
async function mail(
  { mail: server, branding }: Pick<Config, "mail" | "branding">,
  invitation: { readonly id: string; readonly email: string; readonly url: string; readonly expiresAt: Date },
): Promise<boolean> {
  const mailer = server && createMailer(server.smtpUrl, { from: server.from });
  await mailer?.send(invitationMail({ ...invitation, serviceName: branding.name ?? DEFAULT_SERVICE_NAME }));
  return mailer !== undefined;
}

function readEmail(text: string): string {
  return normalizedEmail(parsed(emailAddress, text));
}
