# Summaries of Cox regression (coxph of survival) and Fine-Gray regression (crr of cmprsk), with levels and missing values.
# Values made with R 4.2.2, survival 3.5.3, cmprsk 2.2.11.
# Run here: Rscript summary.R    (writes summary_data.csv and summary.csv)
suppressMessages({library(survival); library(cmprsk)})
set.seed(37)
n <- 300
age <- round(rnorm(n, 60, 12), 1)
stage <- sample(c("I", "II", "III"), n, TRUE, c(.2, .5, .3))
treated <- rbinom(n, 1, .5)
t1 <- rexp(n, .05 * exp(.03 * (age - 60) + .7 * (stage == "III") - .5 * treated))
t2 <- rexp(n, .03 * exp(.4 * (stage == "II")))
censoring <- runif(n, 2, 40)
first <- pmin(t1, t2, censoring)
event <- ifelse(first == censoring, 0, ifelse(first == t1, 1, 2))
time <- ceiling(first * 2) / 2                                     # halves: many ties
entry <- ifelse(runif(n) < .4, floor(time * runif(n)), 0)
entry <- ifelse(entry < time, entry, 0)
weight <- round(runif(n, .2, 3), 2)
age[runif(n) < .15] <- NA
stage[runif(n) < .1] <- NA
write.csv(data.frame(age, stage, treated, time, event, entry, weight), "summary_data.csv", row.names = FALSE)

missing_age <- as.integer(is.na(age))                              # mean and most frequent level, with indicators
missing_stage <- as.integer(is.na(stage))
age[is.na(age)] <- mean(age, na.rm = TRUE)
stage[is.na(stage)] <- names(which.max(table(stage)))
x <- cbind(age, missing_age, model.matrix(~ factor(stage))[, -1], missing_stage, treated)
colnames(x) <- c("age", "age missing", "stage II", "stage III", "stage missing", "treated")

rows <- function(model, event, coefficient, variance) {
  error <- sqrt(diag(variance))
  z <- coefficient / error
  limit <- qnorm(.975) * error
  data.frame(model, event, term = colnames(x), coefficient, hazard_ratio = exp(coefficient), standard_error = error,
             lower = exp(coefficient - limit), upper = exp(coefficient + limit), z, p = 2 * pnorm(-abs(z)))
}
cox <- function(model, outcome, event = 1, weights = NULL, ties = "efron") {
  fit <- coxph(outcome ~ x, weights = weights, ties = ties, robust = FALSE,
               control = coxph.control(eps = 1e-11, toler.chol = 1e-12, iter.max = 50))
  rows(model, event, coef(fit), vcov(fit))
}
fine_gray <- function(k) {
  fit <- crr(time, event, x, failcode = k, gtol = 1e-10, maxiter = 50)
  rows("fine_gray", k, fit$coef, fit$var)
}
write.csv(rbind(
  cox("efron", Surv(time, event > 0)), cox("breslow", Surv(time, event > 0), ties = "breslow"),
  cox("weights and entry", Surv(entry, time, event > 0), weights = weight),
  cox("cause_specific", Surv(time, event == 1)), cox("cause_specific", Surv(time, event == 2), 2),
  fine_gray(1), fine_gray(2)), "summary.csv", row.names = FALSE)
