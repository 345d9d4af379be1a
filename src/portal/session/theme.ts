/** Applies the theme that `?theme=` asks for, or else the theme of the system. */

const isDark = matchMedia("(prefers-color-scheme: dark)");

export function applyTheme(): void {
  const asked = new URLSearchParams(location.search).get("theme");
  const apply = () => {
    const theme = asked === "light" || asked === "dark" ? asked : isDark.matches ? "dark" : "light";
    document.documentElement.dataset.theme = theme;
  };
  apply();
  isDark.addEventListener("change", apply);
}
