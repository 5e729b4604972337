// Logs in or registers, and hands the log-in to the page that asked for it: to its opener by a
// message, or by an address to come back to. The server has said which page may have it.

const byId = (id) => document.getElementById(id);
const form = byId("form");
const status = byId("status");
const { opener: origin, return: back } = document.documentElement.dataset;
const language = new URLSearchParams(location.search).get("lng") ?? "";

const WORDS = {
  USER_EXIST: "This mail has an account already: log in with it.",
  "": "That mail and password do not belong together, or the code is wrong.",
};

let isRegistering = false;

function show() {
  isRegistering = location.hash === "#register" || location.pathname.endsWith("/register");
  if (location.hash === "#login") isRegistering = false;
  const title = isRegistering ? "Make an account" : "Log in";
  document.title = document.title.replace(/^[^·]*/, `${title} `);
  byId("title").textContent = title;
  form.querySelector("button").textContent = title;
  for (const each of document.querySelectorAll("[data-only]")) {
    each.hidden = (each.dataset.only === "register") !== isRegistering;
  }
  byId("nick").required = isRegistering;
  byId("password").minLength = isRegistering ? 5 : 1;
  byId("password").autocomplete = isRegistering ? "new-password" : "current-password";
  byId("code-row").hidden = true;
  byId("other").textContent = isRegistering ? "I have an account" : "Make an account";
  byId("other").href = isRegistering ? "#login" : "#register";
  status.textContent = "";
}

async function send(method, path, body) {
  const url = new URL(`../api/${path}`, location.href);
  url.searchParams.set("lang", language);
  const options = { method, headers: {} };
  if (body) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(url, options);
  return response.json();
}

function said(answer) {
  const { errmsg } = answer;
  const words = typeof errmsg === "string" ? errmsg : Object.values(errmsg ?? {}).join("; ");
  return WORDS[words] ?? words;
}

function hand(person) {
  const data = { ...person, remember: byId("remember").checked };
  if (window.opener && origin) {
    window.opener.postMessage({ type: "userInfo", data }, origin);
    status.textContent = "You are logged in. This window can be closed.";
    return;
  }
  if (back) {
    const target = new URL(back);
    target.searchParams.set("token", person.token);
    location.replace(target);
    return;
  }
  status.textContent = `Logged in as ${person.display_name}, and nobody asked for it: open this page from a site's comments.`;
}

async function submit() {
  const person = { email: byId("mail").value, password: byId("password").value };
  if (isRegistering) {
    const more = { display_name: byId("nick").value, setup_code: byId("setup").value };
    const answer = await send("POST", "user", { ...person, ...more });
    if (answer.errno) return said(answer);
  }
  if (byId("code-row").hidden) {
    const asked = await send("GET", `token/2fa?email=${encodeURIComponent(person.email)}`);
    if (asked.data?.enable) {
      byId("code-row").hidden = false;
      byId("code").focus();
      return "This account asks for a code as well.";
    }
  }
  const answer = await send("POST", "token", { ...person, code: byId("code").value });
  if (answer.errno) return said(answer);
  form.hidden = true;
  byId("other").hidden = true;
  hand(answer.data);
  return null;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  status.textContent = "One moment …";
  try {
    const words = await submit();
    if (words !== null) status.textContent = words;
  } catch {
    status.textContent = "The server does not answer. Try again in a moment.";
  }
  button.disabled = false;
});

addEventListener("hashchange", show);
byId("for").textContent = origin || back ? `For ${new URL(origin || back).host}` : "";
show();
