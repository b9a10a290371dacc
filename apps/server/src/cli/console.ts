import { emailAddress } from "@bikeshare/contract/console";
import { Option } from "@commander-js/extra-typings";
import { type Config, ConfigError } from "../config.ts";
import { invite } from "../console/people/invitations.ts";
import { DEFAULT_SERVICE_NAME, invitationMail } from "../console/people/mails.ts";
import { invitationUrl, normalizedEmail } from "../console/people/people.rules.ts";
import { resetPerson } from "../console/people/reset.ts";
import { createMailer } from "../outbound/mail/mailer.ts";
import { reasonOf } from "../runtime/startup/checks.ts";
import { type CliContext, type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { option, parsed, UsageError } from "./options.ts";
import { localAddress } from "./serve.ts";
import { addressOfStart } from "./start.ts";

/** Registers `console invite` and `console reset`. */
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
        // Read first, because it can fail: a new invitation revokes an earlier one of the same person.
        const baseUrl = await baseOfLinks(context.config);
        // Opening the link proves the person's mail address: the operator, who vouches for it, hands the link over.
        const invitation = { systemId: context.systemId, partnerId, email, role, proves: "operator" } as const;
        const { id, token, expires_at } = await invite(context, invitation);
        const url = invitationUrl(baseUrl, token);
        const isMailed = await mail(context, { id, email, url, expiresAt: expires_at });
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

/**
 * Returns the base address of links to the dashboard: PUBLIC_URL, or the address of the demo (`start`) that runs on the
 * same data directory, or PORT on this machine.
 * @throws ConfigError when a link could not work
 */
async function baseOfLinks(config: Config): Promise<string> {
  const url = config.publicUrl ?? (await addressOfStart(config));
  if (url !== undefined) return url;
  if (config.port !== 0) return localAddress(config);
  throw new ConfigError(
    "PORT=0: the port of the service is unknown, so a link could not name it. Set PORT to the port at which the service listens, or set PUBLIC_URL.",
  );
}

/** Mails an invitation if a mail server is configured. Says why if the mail fails. @returns whether it was sent */
async function mail(
  { config: { mail: server, branding }, output }: Pick<CliContext, "config" | "output">,
  invitation: { readonly id: string; readonly email: string; readonly url: string; readonly expiresAt: Date },
): Promise<boolean> {
  const mailer = server && createMailer(server.smtpUrl, { from: server.from });
  if (mailer === undefined) return false;
  try {
    await mailer.send(invitationMail({ ...invitation, serviceName: branding.name ?? DEFAULT_SERVICE_NAME }));
    return true;
  } catch (error) {
    // Does not fail the command: the invitation is stored, and only this command can show its link.
    output.note(`No mail was sent: ${reasonOf(error)}`);
    return false;
  }
}

function readEmail(text: string): string {
  return normalizedEmail(parsed(emailAddress, text));
}
