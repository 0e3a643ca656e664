// What the browser remembers: this tab, until it is closed, the token and that it was running;
// the browser, what was chosen.

const kept = (store) => ({
  get: (name) => {
    try {
      return window[store].getItem(`deixis-${name}`) || "";
    } catch {
      return ""; // without storage it is asked for again
    }
  },
  set: (name, value) => {
    try {
      if (value) window[store].setItem(`deixis-${name}`, value);
      else window[store].removeItem(`deixis-${name}`);
    } catch {
      // private windows may refuse
    }
  },
});

export const tab = kept("sessionStorage");
const browser = kept("localStorage");

const CHOICES = { camera: "", microphone: "", language: "auto", transport: "pcm+jpeg", headphones: false, speak: true };

export function choices() {
  let said = {};
  try {
    said = JSON.parse(browser.get("choices") || "{}");
  } catch {
    // not ours
  }
  const valid = ([name, usual]) => [name, typeof said?.[name] === typeof usual ? said[name] : usual];
  return Object.fromEntries(Object.entries(CHOICES).map(valid));
}

export function choose(change) {
  browser.set("choices", JSON.stringify({ ...choices(), ...change }));
}
