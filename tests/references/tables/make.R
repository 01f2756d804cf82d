# Writes the tables of this folder with the writers of R: Rscript make.R, in this folder, with foreign and haven.
set.seed(1)
n <- 80
age <- round(rnorm(n, 60, 10), 1)
days <- round(rexp(n, exp((age - 60) / 10) / 300) + 1, 1)
table <- data.frame(
  age = age,
  dose = ifelse(runif(n) < 0.2, NA, round(runif(n), 3)),
  stage = factor(sample(c("I", "II", "III"), n, TRUE)),
  days = days,
  status = factor(ifelse(runif(n) < 0.6, "dead", "alive"), levels = c("alive", "dead"))
)
write.csv(table, "r.csv")
write.csv2(table, "r_csv2.csv", row.names = FALSE)
write.table(table, "r_table.txt", row.names = FALSE)
foreign::write.dta(table, "foreign.dta")
haven::write_dta(table, "haven.dta")
haven::write_sav(table, "haven.sav")
haven::write_xpt(transform(table, stage = as.character(stage), status = as.character(status)), "haven.xpt")
suppressWarnings(haven::write_sas(transform(table, stage = as.character(stage), status = as.character(status)),
                                  "haven.sas7bdat"))
